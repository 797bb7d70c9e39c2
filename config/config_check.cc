#include "config/config_check.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/parts/part_family.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/bank/model_bank_check.h"
#include "checkpoint/saver_check.h"
#include "config/custom_check.h"
#include "config/data_check.h"
#include "config/training_size.h"
#include "config/window_check.h"
#include "embedding/max_ids_check.h"
#include "embedding/policies/table_policy_check.h"
#include "embedding/rows/initializer_registry.h"
#include "framework/precision/loss_scaler.h"
#include "io/feature/feature_check.h"
#include "io/feature_schema.h"
#include "losses/task_check.h"
#include "metrics/metric_registry.h"
#include "optim/dense/dense_optimizer_registry.h"
#include "optim/dense/optimizer_schedule.h"
#include "optim/gradient_clipping.h"
#include "optim/moving_average.h"
#include "optim/rows/row_optimizer_registry.h"
#include "plugin/plugin_config_check.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/message_visit.h"
#include "proto/optimizer_list.h"
#include "proto/range_check.h"
#include "sinks/configured_sinks.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kEvictionHook[] = "evict_rows";

// Reports numbers that are not a number, and URIs with passwords, in all fields, also in
// extensions.
void check_values(const std::string& where, const Message& message, FieldErrors* errors) {
  const Reflection& reflection = *message.GetReflection();
  // Visits fields by reflection, so that a new field is checked without new code.
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name =
        field->is_extension() ? absl::StrCat("[", field->full_name(), "]") : field->name();
    const bool repeated = field->is_repeated();
    const int count = repeated ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string place = repeated ? absl::StrCat(name, "[", i, "]") : name;
      double value = 0;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE: {
          const Message& part = repeated ? reflection.GetRepeatedMessage(message, field, i)
                                         : reflection.GetMessage(message, field);
          const std::string inside = where.empty() ? place : absl::StrCat(where, ".", place);
          check_values(inside, part, errors);
          break;
        }
        case FieldDescriptor::CPPTYPE_DOUBLE:
          value = repeated ? reflection.GetRepeatedDouble(message, field, i)
                           : reflection.GetDouble(message, field);
          break;
        case FieldDescriptor::CPPTYPE_FLOAT:
          value = repeated ? reflection.GetRepeatedFloat(message, field, i)
                           : reflection.GetFloat(message, field);
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          errors->add(
              annotate(check_bucket(repeated ? reflection.GetRepeatedString(message, field, i)
                                             : reflection.GetString(message, field)),
                       absl::StrCat(where, ": ", place)));
          break;
        default: break;
      }
      if (std::isnan(value)) errors->add(wrong(where, absl::StrCat(place, " is not a number")));
    }
  }
}

absl::Status check_generated(const GeneratedDataConfig& data) {
  const std::string where = "train.generated_data";
  FieldErrors errors;
  if (data.directory().empty()) errors.add(wrong(where, "directory is missing"));
  errors.add(annotate(check_shell_path(data.directory()), where + ": directory"));
  errors.add(check_ranges(where, data));
  return errors.status();
}

// Checks that no metric is named twice. Known names depend on the program and are checked
// elsewhere.
void check_metric_list(const std::string& list,
                       const google::protobuf::RepeatedPtrField<std::string>& metrics,
                       FieldErrors* errors) {
  std::set<std::string> names;
  for (int i = 0; i < metrics.size(); ++i) {
    if (names.insert(metrics[i]).second) continue;
    errors->add(wrong(entry(list, i, metrics[i]), "the metric is named before; remove one"));
  }
}

// Checks that each message belongs to a metric of a list.
void check_metric_messages(const TrainConfig& train, FieldErrors* errors) {
  std::set<std::string> used;
  const auto add = [&](const google::protobuf::RepeatedPtrField<std::string>& metrics) {
    for (const std::string& name : metrics) used.insert(registered_metric_name(name));
  };
  add(train.metric());
  for (const EvaluationSetConfig& set : train.eval_data()) add(set.metric());
  for (const SliceConfig& slice : train.slice()) add(slice.metric());
  std::set<std::string> names;
  for (int i = 0; i < train.custom_metric_size(); ++i) {
    const std::string& name = train.custom_metric(i).name();
    const std::string where = entry("train.custom_metric", i, name);
    errors->add(check_unique(where, name, &names));
    if (used.count(name) > 0) continue;
    errors->add(wrong(where, "no list of metrics names it; add it to train.metric or remove it"));
  }
}

absl::Status check_evaluation_sets(const TrainConfig& train) {
  FieldErrors errors;
  std::set<std::string> names;
  const bool generated = train.has_generated_data() && train.generated_data().eval_rows() > 0;
  for (int i = 0; i < train.eval_data_size(); ++i) {
    const EvaluationSetConfig& set = train.eval_data(i);
    const std::string where = entry("train.eval_data", i, set.name());
    errors.add(plain_name(where, set.name()));
    errors.add(check_unique(where, set.name(), &names));
    if (set.name() == "train") {
      errors.add(wrong(where, "reports of training have this name; give the set another one"));
    }
    check_metric_list(where + ".metric", set.metric(), &errors);
    if (set.data().has_mix()) {
      errors.add(wrong(where + ".data.mix", "is for training; give each source a set of its own"));
    } else {
      errors.add(check_data(where + ".data", set.data(), train, generated));
    }
    if (set.data().has_windows() && !comes_in_windows(train.train_data())) {
      errors.add(
          wrong(where + ".data.windows", "need train_data.windows, with which they are paired"));
    }
  }
  return errors.status();
}

// Checks the name, the column and the table of a feature.
absl::Status check_names(const std::string& where, const FeatureConfig& feature,
                         const std::vector<std::string>& tables) {
  if (feature.name().find_first_of("{}") != std::string::npos) {
    return wrong(where,
                 "name holds a brace; a range is written {1..26}, and all ranges give "
                 "at most 1000000 entries");
  }
  if (feature.column() == "{}") {
    return wrong(where, "column is \"{}\", but the name has no range such as {1..26}");
  }
  if (feature.kind() == FeatureConfig::SPARSE &&
      std::find(tables.begin(), tables.end(), feature.table()) == tables.end()) {
    return wrong(where, absl::StrCat("no table \"", feature.table(), "\"",
                                     did_you_mean(feature.table(), tables)));
  }
  return absl::OkStatus();
}

absl::Status check_features(const TrainConfig& train) {
  FieldErrors errors;
  errors.add(check_feature_schema("train", train));
  std::vector<std::string> sparse;
  std::vector<std::string> tables;
  for (const TableConfig& table : train.table()) tables.push_back(table.name());
  for (int i = 0; i < train.feature_size(); ++i) {
    const FeatureConfig& feature = train.feature(i);
    const std::string where = entry("train.feature", i, feature.name());
    errors.add(check_names(where, feature, tables));
    errors.add(check_feature(where, feature));
    errors.add(check_max_ids(where, feature.pooling(), feature.max_ids()));
    errors.add(check_crosses(where, feature, sparse));
    if (feature.kind() == FeatureConfig::SPARSE) sparse.push_back(feature.name());
  }
  return errors.status();
}

absl::Status check_tables(const TrainConfig& train) {
  FieldErrors errors;
  std::set<std::string> names;
  // expand_names() removes a valid name.
  if (train.default_table().has_name()) {
    errors.add(wrong("train.default_table", "name is given, but each table has its feature's"));
  } else if (train.has_default_table()) {
    errors.add(wrong("train.default_table",
                     "no table is made from it: every sparse feature has an entry in train.table"));
  }
  for (int i = 0; i < train.table_size(); ++i) {
    const TableConfig& table = train.table(i);
    const std::string where = entry("train.table", i, table.name());
    errors.add(plain_name(where, table.name()));
    errors.add(check_unique(where, table.name(), &names));
    errors.add(check_own_ranges(where, table));
    errors.add(check_initializer(where + ".initializer", table.initializer()));
    errors.add(check_sparse_optimizer(where + ".optimizer", table.optimizer()));
    errors.add(check_table_policies(where, table));
    if (table.frozen() &&
        (table.has_optimizer() || table.has_admission() || table.has_eviction())) {
      errors.add(wrong(where, "it is frozen: optimizer, admission and eviction would do nothing"));
    }
  }
  return errors.status();
}

absl::Status check_schedules(const TrainConfig& train) {
  FieldErrors errors;
  for (const PlacedSchedule& placed : schedules_of(train)) {
    errors.add(check_optimizer_schedule(placed.where, placed.schedule, training_totals(train)));
    const double min_rate = placed.schedule.reduce_on_plateau().min_rate();
    if (min_rate > 0 && min_rate >= placed.learning_rate) {
      errors.add(
          wrong(placed.where, absl::StrCat("min_rate is ", min_rate,
                                           ", so that the rate is never reduced; must be below "
                                           "learning_rate, ",
                                           placed.learning_rate)));
    }
  }
  return errors.status();
}

absl::Status check_optimizers(const TrainConfig& train) {
  FieldErrors errors;
  errors.add(check_schedules(train));
  errors.add(check_dense_optimizer("train.optimizer", train.optimizer()));
  for (int i = 0; i < train.more_optimizers_size(); ++i) {
    errors.add(check_dense_optimizer(entry("train.more_optimizers", i), train.more_optimizers(i)));
  }
  if (train.has_clipping()) errors.add(check_clipping("train.clipping", train.clipping()));
  errors.add(check_precision("train.precision", train.precision()));
  errors.add(check_moving_average_of(train));
  errors.add(check_sparse_optimizer("train.sparse_optimizer", train.sparse_optimizer()));
  return errors.status();
}

absl::Status check_run_length(const TrainConfig& train) {
  FieldErrors errors;
  errors.add(check_step_size("train", train));
  if (!comes_in_windows(train.train_data()) &&
      (train.max_windows() > 0 || train.max_steps_per_window() > 0 ||
       train.max_windows_per_epoch() > 0)) {
    errors.add(wrong("train",
                     "max_windows, max_steps_per_window and max_windows_per_epoch need "
                     "train_data.windows"));
  }
  const bool is_list = is_list_of_windows(train.train_data());
  if (comes_in_windows(train.train_data()) && train.max_epochs() > 1 && !is_list &&
      train.max_windows_per_epoch() == 0) {
    errors.add(wrong("train",
                     "max_epochs does nothing: a stream of windows is one epoch; set "
                     "max_windows_per_epoch, or use max_steps, max_windows or windows.repeat"));
  }
  const auto& sets = train.eval_data();
  const auto paired = std::find_if(sets.begin(), sets.end(), [](const EvaluationSetConfig& set) {
    return set.data().has_windows();
  });
  if (comes_in_windows(train.train_data()) && train.max_epochs() > 1 && is_list &&
      paired != sets.end() && train.max_windows_per_epoch() == 0) {
    errors.add(
        wrong("train", absl::StrCat("max_epochs does nothing: training ends with the windows of "
                                    "evaluation set ",
                                    paired->name(),
                                    ", which is paired with those of training; evaluate a set "
                                    "without windows")));
  }
  if (comes_in_windows(train.train_data()) && train.max_steps_per_epoch() > 0) {
    errors.add(wrong("train",
                     "max_steps_per_epoch does nothing with windows; use max_steps_per_window or "
                     "max_windows_per_epoch"));
  }
  errors.add(check_ranges("train.non_finite", train.non_finite()));
  return errors.status();
}

// Checks hooks. The hooks of both parts share one space of names, since names are the keys of hook
// state.
absl::Status check_hooks(const std::string& list,
                         const google::protobuf::RepeatedPtrField<HookConfig>& hooks,
                         std::set<std::string>* names) {
  FieldErrors errors;
  for (int i = 0; i < hooks.size(); ++i) {
    const std::string& name = instance_name(hooks[i]);
    const std::string where = entry(list, i, name);
    errors.add(check_plugin_hook(where, hooks[i]));
    errors.add(check_extension_ranges(where, hooks[i], hooks[i].name()));
    if (!name.empty()) {
      errors.add(check_unique(where, name, names));
    } else if (!hooks[i].has_plugin()) {
      errors.add(wrong(where, "name is missing"));
    }
  }
  return errors.status();
}

// Checks that rules of eviction have their inputs, and the hook that applies the rules.
absl::Status check_eviction_hook(const JobConfig& config) {
  const auto evicts_rows = [](const HookConfig& hook) {
    return hook.name() == kEvictionHook && !hook.has_plugin();
  };
  const auto& hooks = config.train().hooks();
  const auto& others = config.run().hooks();
  FieldErrors errors;
  if (std::any_of(others.begin(), others.end(), evicts_rows)) {
    errors.add(wrong("run.hooks", "evict_rows changes the result: it belongs in train.hooks"));
  }
  const bool evicts = std::any_of(hooks.begin(), hooks.end(), evicts_rows);
  const bool windows = comes_in_windows(config.train().train_data());
  for (int i = 0; i < config.train().table_size(); ++i) {
    const TableConfig& table = config.train().table(i);
    const std::string where = entry("train.table", i, table.name());
    if (table.has_eviction() && !evicts) {
      errors.add(
          wrong(where, "eviction is given, but train.hooks has no hook evict_rows to do it"));
    }
    if (table.eviction().has_idle_windows() && !windows) {
      errors.add(wrong(where + ".eviction", "idle_windows needs train_data.windows"));
    }
  }
  return errors.status();
}

// Checks that a cadence in windows can occur.
absl::Status check_windows(const std::string& where, const CadenceConfig& when,
                           const TrainConfig& train) {
  if (when.every_windows() <= 0 || comes_in_windows(train.train_data())) return absl::OkStatus();
  return wrong(where, "every_windows needs train_data.windows");
}

// Checks that the fields of each cadence in `config` fit together, and that the steps are known of
// which one has a share.
absl::Status check_cadences(const JobConfig& config) {
  FieldErrors errors;
  JobConfig copy = config;
  const auto visit = [&errors](const std::string& where, google::protobuf::Message* message) {
    if (message->GetDescriptor() != CadenceConfig::descriptor()) return absl::OkStatus();
    const auto& when = static_cast<const CadenceConfig&>(*message);
    const auto check = [&](bool has_after, bool has_every, absl::string_view unit) {
      if (!has_after || has_every) return;
      errors.add(wrong(where, absl::StrCat("after_", unit, " needs every_", unit,
                                           ", of which it is the first")));
    };
    check(when.after_steps() > 0, when.every_steps() > 0 || when.every_share() > 0, "steps");
    check(when.after_epochs() > 0, when.every_epochs() > 0, "epochs");
    check(when.after_windows() > 0, when.every_windows() > 0, "windows");
    check(when.after_seconds() > 0, when.every_seconds() > 0, "seconds");
    return absl::OkStatus();
  };
  visit_messages("", visit, &copy).IgnoreError();
  const std::string share = find_cadence_share(config);
  const ScheduleTotals totals = training_totals(config.train());
  if (!share.empty() && !totals.steps.has_value() && !totals.counted_at_start) {
    errors.add(wrong(share,
                     "every_share needs a number of steps: set train.max_steps, or max_epochs with "
                     "files as train_data"));
  }
  return errors.status();
}

// Checks the cadences of evaluation sets. The trainer evaluates sets in windows itself, one window
// after each window of training.
absl::Status check_set_cadences(const EvaluationConfig& evaluation, const TrainConfig& train) {
  std::vector<std::string> names;
  std::set<std::string> in_windows, seen;
  for (const EvaluationSetConfig& set : train.eval_data()) {
    names.push_back(set.name());
    if (set.data().has_windows()) in_windows.insert(set.name());
  }
  FieldErrors errors;
  for (int i = 0; i < evaluation.set_size(); ++i) {
    const EvaluationConfig::Set& set = evaluation.set(i);
    const std::string where = entry("run.evaluation.set", i, set.name());
    if (set.name().empty()) {
      errors.add(wrong(where, "name is missing; set it to the name of an evaluation set"));
    } else if (std::find(names.begin(), names.end(), set.name()) == names.end()) {
      errors.add(wrong(
          where, absl::StrCat("no evaluation set has this name", did_you_mean(set.name(), names))));
    } else if (in_windows.count(set.name()) > 0) {
      errors.add(wrong(where,
                       "the set comes in windows, of which one is evaluated after each window of "
                       "training; remove the entry"));
    }
    // An empty name has its own error above.
    if (!set.name().empty()) errors.add(check_unique(where, set.name(), &seen));
    if (!set.has_when()) {
      errors.add(wrong(where,
                       "when is missing; without a cadence of its own the set needs no "
                       "entry"));
    }
    errors.add(check_ranges(where + ".when", set.when()));
    errors.add(check_windows(where + ".when", set.when(), train));
  }
  errors.add(check_windows("run.evaluation.when", evaluation.when(), train));
  return errors.status();
}

absl::Status check_checkpoint(const CheckpointConfig& checkpoint) {
  const std::string where = "run.checkpoint";
  FieldErrors errors;
  errors.add(check_ranges(where + ".when", checkpoint.when()));
  for (const CheckpointConfig::Best& best : checkpoint.keep_best()) {
    if (best.metric().find('/') != std::string::npos) continue;
    errors.add(wrong(absl::StrCat(where, ".keep_best \"", best.metric(), "\""),
                     "metric must name set and metric, such as eval/auc"));
  }
  errors.add(check_saver(where, checkpoint));
  return errors.status();
}

absl::Status check_evaluation(const EvaluationConfig& evaluation, const TrainConfig& train) {
  FieldErrors errors;
  if (evaluation.progressive() && !comes_in_windows(train.train_data())) {
    errors.add(wrong("run.evaluation", "progressive needs train_data.windows"));
  }
  for (const EvaluationSetConfig& set : train.eval_data()) {
    if (!evaluation.progressive() || set.name() != "next_window") continue;
    errors.add(wrong("run.evaluation",
                     "progressive evaluates windows under the name next_window, which an "
                     "evaluation set has"));
  }
  errors.add(check_set_cadences(evaluation, train));
  errors.add(check_ranges("run.evaluation.when", evaluation.when()));
  return errors.status();
}

// Checks a place that may be a prefix in a bucket.
absl::Status check_place(absl::string_view field, const std::string& place) {
  const auto refuse = [&](absl::string_view why) {
    return wrong("run.places", absl::StrCat(field, " is ", place, why));
  };
  if (is_bucket(place)) {
    const size_t end = place.find('/', place.find("://") + 3);
    const bool has_prefix = place.find_first_not_of('/', end) != std::string::npos;
    return has_prefix ? absl::OkStatus()
                      : refuse(", without a name in the bucket, as in s3://BUCKET/RUN");
  }
  if (is_uri(place)) {
    return refuse(
        ": what is there is only read; give a directory, or s3://BUCKET/RUN or gs://BUCKET/RUN");
  }
  const size_t scheme = place.find(":/");
  if (scheme != std::string::npos && place.find('/') == scheme + 1) {
    return refuse(", which is no URI; write s3://BUCKET/RUN");
  }
  return annotate(check_shell_path(place), "run.places");
}

// Returns `place`, or its default, so that equal places have equal names.
std::string place_or(const std::string& place, const std::string& output_dir,
                     const char* otherwise) {
  std::string path = absolute_path(place.empty() ? join_path(output_dir, otherwise) : place);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::Status check_places(const PlacesConfig& places, const std::string& output_dir) {
  FieldErrors errors;
  errors.add(check_ranges("run.places", places));
  errors.add(check_place("checkpoints", places.checkpoints()));
  errors.add(check_place("published", places.published()));
  if (place_or(places.checkpoints(), output_dir, "checkpoints") ==
      place_or(places.published(), output_dir, "published")) {
    errors.add(wrong("run.places",
                     absl::StrCat("checkpoints and published are both ", places.published())));
  }
  if (place_or(places.published(), output_dir, "published") == place_or(output_dir, "", "")) {
    errors.add(wrong("run.places", absl::StrCat("published is the output directory, ", output_dir,
                                                "; give a folder for versions alone")));
  }
  if (!places.logs().empty() && places.logs() == places.metrics()) {
    errors.add(wrong("run.places", absl::StrCat("logs and metrics are both ", places.logs())));
  }
  for (const std::string& directory : {places.logs(), places.metrics()}) {
    if (!is_uri(directory)) {
      errors.add(annotate(check_shell_path(directory), "run.places"));
      continue;
    }
    errors.add(wrong("run.places", absl::StrCat(directory,
                                                " is no directory of this machine: logs "
                                                "and metrics are appended to, which objects of a "
                                                "bucket cannot be")));
  }
  return errors.status();
}

absl::Status check_run(const RunConfig& run) {
  FieldErrors errors;
  if (run.output_dir().empty()) errors.add(wrong("run", "output_dir is empty"));
  errors.add(annotate(check_shell_path(run.output_dir()), "run: output_dir"));
  errors.add(check_own_ranges("run", run));
  errors.add(check_ranges("run.read", run.read()));
  errors.add(check_ranges("run.distributed", run.distributed()));
  errors.add(check_ranges("run.health", run.health()));
  errors.add(check_places(run.places(), run.output_dir()));
  errors.add(check_checkpoint(run.checkpoint()));
  if (run.resume().empty()) errors.add(wrong("run", "resume is empty; auto, never or a path"));
  errors.add(check_ranges("run.report.when", run.report().when()));
  errors.add(check_sinks(run));
  if (run.report().when().at_start()) {
    errors.add(wrong("run.report.when",
                     "at_start is set, but a report is of the steps since the one before it: there "
                     "is nothing to report at the start"));
  }
  return errors.status();
}

}  // namespace

absl::Status validate(const JobConfig& config) {
  const TrainConfig& train = config.train();
  FieldErrors errors;
  check_values("", config, &errors);
  // Later checks would report the same values again.
  RETURN_IF_ERROR(errors.status());
  errors.add(check_run_length(train));
  if (train.has_generated_data()) errors.add(check_generated(train.generated_data()));
  errors.add(check_data("train.train_data", train.train_data(), train, train.has_generated_data()));
  errors.add(check_evaluation_sets(train));
  errors.add(check_tables(train));
  errors.add(check_model_bank(train));
  errors.add(check_ranges("train.model_bank.reload", train.model_bank().reload()));
  errors.add(check_features(train));
  errors.add(check_tasks("train", train));
  if (train.model().name().empty()) errors.add(wrong("train.model", "name is missing"));
  errors.add(check_extension_ranges("train.model", train.model(), train.model().name()));
  check_metric_list("train.metric", train.metric(), &errors);
  check_metric_messages(train, &errors);
  errors.add(check_custom_messages("train", train));
  errors.add(check_custom_messages("run", config.run()));
  if (train.train_step().has_custom()) {
    errors.add(annotate(PartFamily::check("train step", train.train_step().custom().name()),
                        "train.train_step.custom"));
  }
  errors.add(check_optimizers(train));
  std::set<std::string> hooks;
  errors.add(check_hooks("train.hooks", train.hooks(), &hooks));
  errors.add(check_hooks("run.hooks", config.run().hooks(), &hooks));
  errors.add(check_plugins("run.plugins", config.run().plugins()));
  errors.add(check_eviction_hook(config));
  errors.add(check_evaluation(config.run().evaluation(), train));
  errors.add(check_run_windows(config));
  errors.add(check_cadences(config));
  errors.add(check_run(config.run()));
  return errors.status();
}

std::vector<std::string> config_warnings(const TrainConfig& train) {
  std::vector<std::string> used, warnings;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::SPARSE) used.push_back(feature.table());
  }
  for (int i = 0; i < train.table_size(); ++i) {
    const std::string& name = train.table(i).name();
    if (std::find(used.begin(), used.end(), name) != used.end()) continue;
    warnings.push_back(absl::StrCat(entry("train.table", i, name), ": no feature uses the table",
                                    did_you_mean(name, used)));
  }
  return warnings;
}

}  // namespace millrace
