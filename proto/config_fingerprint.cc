#include "proto/config_fingerprint.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "proto/message_differences.h"
#include "proto/message_visit.h"
#include "proto/optimizer_list.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Writes the bounds of a split so that equal intervals have equal texts. Omits a lower bound of 0
// and an upper bound of 1, as in checkpoints written before ORDER_OF_COLUMN had intervals without
// bounds.
void normalize(SplitConfig& split) {
  const SplitBounds bounds = split_bounds(split);
  split.set_from(bounds.from);
  split.set_to(bounds.to);
  if (bounds.from == 0) split.clear_from();
  if (bounds.to == 1) split.clear_to();
}

// Reduces data to the fields that decide the result: clears its location and waiting times.
void reduce(DataConfig& data) {
  data.clear_path();
  if (data.has_split()) normalize(*data.mutable_split());
  if (data.has_mix()) {
    for (MixSourceConfig& source : *data.mutable_mix()->mutable_source()) {
      if (source.has_data()) reduce(*source.mutable_data());
    }
  }
  if (!data.has_windows()) return;
  data.mutable_windows()->clear_idle_seconds();
  data.mutable_windows()->clear_skip();
  if (data.windows().has_kafka()) {
    KafkaWindows& topic = *data.mutable_windows()->mutable_kafka();
    topic.clear_brokers();
    topic.clear_missing();
    topic.clear_option();
    topic.clear_seconds();
    topic.clear_timeout_seconds();
    topic.clear_start_offsets();
    topic.clear_group();
    topic.clear_bad_records();
  }
  if (data.windows().has_manifest()) data.mutable_windows()->mutable_manifest()->clear_path();
  if (data.windows().has_directory()) data.mutable_windows()->mutable_directory()->clear_path();
  if (!data.windows().has_time()) return;
  data.mutable_windows()->mutable_time()->clear_path();
  data.mutable_windows()->mutable_time()->clear_end();
}

// Returns true if `message` contains a ScheduleLength that is a share.
bool has_share(const Message& message) {
  if (message.GetDescriptor() == ScheduleLength::descriptor()) {
    return static_cast<const ScheduleLength&>(message).has_share();
  }
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : set_fields(message)) {
    if (!is_message(*field)) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    for (int i = 0; i < count; ++i) {
      if (has_share(reflection.GetRepeatedMessage(message, field, i))) return true;
    }
    if (!field->is_repeated() && has_share(reflection.GetMessage(message, field))) return true;
  }
  return false;
}

// Returns true if `schedule` contains a registered schedule, which receives all totals.
bool has_custom(const ScheduleConfig& schedule) {
  const auto& parts = schedule.chained().part();
  return schedule.has_custom() || std::any_of(parts.begin(), parts.end(), [](const auto& part) {
           return has_custom(part.schedule());
         });
}

// Returns the units in which the total of training decides a learning rate.
std::set<ScheduleConfig::Unit> units_of_totals(const TrainConfig& train) {
  for (const PlacedSchedule& placed : schedules_of(train)) {
    if (has_custom(placed.schedule)) {
      return {ScheduleConfig::STEPS, ScheduleConfig::EPOCHS, ScheduleConfig::WINDOWS};
    }
  }
  std::set<ScheduleConfig::Unit> units = units_of_shares(train);
  // Without max_steps, these totals are multiples of max_epochs.
  const bool is_counted =
      units.count(ScheduleConfig::STEPS) > 0 || units.count(ScheduleConfig::EXAMPLES) > 0;
  if (is_counted && train.max_steps() == 0) units.insert(ScheduleConfig::EPOCHS);
  return units;
}

// Clears learning rates, schedules and weight decays in the configuration of an optimizer.
void clear_rates(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  for (const FieldDescriptor* field : set_fields(message)) {
    if (field->is_extension()) continue;
    const std::string& name = field->name();
    if (name == "learning_rate" || name == "schedule" || name == "weight_decay") {
      reflection.ClearField(&message, field);
    } else if (is_message(*field)) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
      for (int i = 0; i < count; ++i) {
        clear_rates(*reflection.MutableRepeatedMessage(&message, field, i));
      }
      if (!field->is_repeated()) clear_rates(*reflection.MutableMessage(&message, field));
    }
  }
}

// Returns a configuration without the fields that a resumed job may change.
TrainConfig fixed_part(TrainConfig config) {
  // Kinds that are set by default, too, have a weight decay.
  const auto fix = [](auto& optimizer) {
    clear_rates(optimizer);
    if (optimizer.kind_case() == 0) optimizer.mutable_adam();
  };
  fix(*config.mutable_optimizer());
  for (DenseOptimizerConfig& optimizer : *config.mutable_more_optimizers()) fix(optimizer);
  fix(*config.mutable_sparse_optimizer());
  for (TableConfig& table : *config.mutable_table()) {
    if (table.has_optimizer()) fix(*table.mutable_optimizer());
  }
  if (config.default_table().has_optimizer()) {
    fix(*config.mutable_default_table()->mutable_optimizer());
  }
  config.clear_clipping();
  config.clear_non_finite();
  if (config.has_train_data()) config.mutable_train_data()->clear_batch_size();
  config.clear_micro_batches();
  config.clear_global_batch_size();
  config.clear_max_micro_batch_size();
  // Totals are compared only if a schedule has a share of them.
  config.clear_max_steps();
  config.clear_max_epochs();
  config.clear_max_windows();
  config.clear_max_steps_per_epoch();
  config.clear_max_steps_per_window();
  config.clear_max_windows_per_epoch();
  config.clear_max_evaluation_steps();
  config.clear_max_evaluation_windows();
  config.clear_max_evaluation_seconds();
  return config;
}

}  // namespace

std::set<ScheduleConfig::Unit> units_of_shares(const TrainConfig& train) {
  std::set<ScheduleConfig::Unit> units;
  for (const PlacedSchedule& placed : schedules_of(train)) {
    if (has_share(placed.schedule)) units.insert(placed.schedule.unit());
  }
  return units;
}

namespace {

// Returns identity_of() with the totals of training in `units`.
TrainConfig identity_with_totals(const TrainConfig& config,
                                 const std::set<ScheduleConfig::Unit>& units) {
  TrainConfig identity = config;
  if (units.count(ScheduleConfig::STEPS) == 0) identity.clear_max_steps();
  if (units.count(ScheduleConfig::EPOCHS) == 0) identity.clear_max_epochs();
  if (units.count(ScheduleConfig::WINDOWS) == 0) identity.clear_max_windows();
  identity.clear_max_seconds();
  identity.clear_split_rule();  // a job that resumes takes that of its checkpoint
  if (identity.has_train_data()) reduce(*identity.mutable_train_data());
  for (FeatureConfig& feature : *identity.mutable_feature()) {
    for (TransformConfig& transform : *feature.mutable_transform()) {
      // The content is compared separately (checkpoint/folder/referred_files.h).
      if (transform.has_vocabulary()) transform.mutable_vocabulary()->clear_path();
    }
  }
  for (EvaluationSetConfig& set : *identity.mutable_eval_data()) {
    if (set.has_data()) reduce(*set.mutable_data());
  }
  for (HookConfig& hook : *identity.mutable_hooks()) {
    // The digest identifies the file (plugin/configured_plugins.h).
    if (hook.has_plugin()) hook.mutable_plugin()->clear_path();
  }
  // Static sources were loaded when the job began. Dynamic sources matter by their presence and
  // configuration, but not by their location.
  identity.clear_initialize_from();
  const auto& sources = config.model_bank().source();
  const bool loads_again = std::any_of(sources.begin(), sources.end(),
                                       [](const SourceConfig& source) { return source.dynamic(); });
  if (!loads_again) identity.clear_model_bank();
  if (identity.has_model_bank()) {
    for (SourceConfig& source : *identity.mutable_model_bank()->mutable_source()) {
      source.clear_path();
    }
  }
  if (identity.has_generated_data()) identity.mutable_generated_data()->clear_directory();
  clear_defaults(identity);
  return identity;
}

}  // namespace

TrainConfig identity_of(const TrainConfig& config) {
  return identity_with_totals(config, units_of_totals(config));
}

std::string config_fingerprint(const TrainConfig& config) {
  std::string text;
  TextFormat::PrintToString(identity_of(config), &text);
  return format_digest(xxh3_128(text));
}

std::vector<std::string> config_differences(const TrainConfig& before, const TrainConfig& now) {
  // A total that one of them has a share of is compared as both have it.
  std::set<ScheduleConfig::Unit> units = units_of_totals(before);
  units.merge(units_of_totals(now));
  TrainConfig old_identity = identity_with_totals(before, units);
  TrainConfig new_identity = identity_with_totals(now, units);
  if (before.global_batch_size() > 0 || now.global_batch_size() > 0) {
    // global_batch_size replaces these fields, whose defaults would show as differences.
    for (TrainConfig* identity : {&old_identity, &new_identity}) {
      if (identity->has_train_data()) identity->mutable_train_data()->clear_batch_size();
      identity->clear_micro_batches();
    }
  }
  return message_differences(old_identity, new_identity);
}

bool can_continue_as(const TrainConfig& before, const TrainConfig& now) {
  return config_fingerprint(fixed_part(before)) == config_fingerprint(fixed_part(now));
}

std::vector<std::string> fixed_differences(const TrainConfig& before, const TrainConfig& now) {
  return config_differences(fixed_part(before), fixed_part(now));
}

}  // namespace millrace
