#include "config/config_check.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/path/shell_path.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "checkpoint/bank/model_bank_check.h"
#include "checkpoint/saver_check.h"
#include "config/data_check.h"
#include "config/step_size.h"
#include "config/training_totals.h"
#include "embedding/max_ids_check.h"
#include "embedding/policies/table_policy_check.h"
#include "embedding/rows/initializer_check.h"
#include "embedding/table/table_dim_check.h"
#include "framework/loop/limits_check.h"
#include "framework/precision/precision_check.h"
#include "io/feature/feature_check.h"
#include "io/feature_schema_check.h"
#include "job/generate/generated_rows_check.h"
#include "losses/task_check.h"
#include "optim/clipping_check.h"
#include "optim/dense_optimizer_check.h"
#include "optim/moving_average_check.h"
#include "optim/optimizer_schedule.h"
#include "optim/rows/row_optimizer_check.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/optimizer_list.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int64_t kMostBatchesAhead = 1024;
constexpr char kEvictionHook[] = "evict_rows";

// Not-a-number is wrong everywhere, in extensions too.
absl::Status no_nan(const std::string& where, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
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
          RETURN_IF_ERROR(no_nan(inside, part));
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
        default: break;
      }
      if (std::isnan(value)) return wrong(where, absl::StrCat(place, " is not a number"));
    }
  }
  return absl::OkStatus();
}

absl::Status check_generated(const GeneratedDataConfig& data) {
  const std::string where = "train.generated_data";
  if (data.directory().empty()) return wrong(where, "directory is missing");
  RETURN_IF_ERROR(check_shell_path(data.directory()), where + ": directory");
  return check_generated_rows(where, data);
}

absl::Status check_evaluation_sets(const TrainConfig& train) {
  std::set<std::string> names;
  for (int i = 0; i < train.eval_data_size(); ++i) {
    const EvaluationSetConfig& set = train.eval_data(i);
    const std::string where = entry("train.eval_data", i, set.name());
    RETURN_IF_ERROR(plain_name(where, set.name()));
    RETURN_IF_ERROR(untaken(where, set.name(), &names));
    const bool generated = train.has_generated_data() && train.generated_data().eval_rows() > 0;
    if (set.data().has_mix()) {
      return wrong(where + ".data.mix", "is for training; give each source a set of its own");
    }
    RETURN_IF_ERROR(check_data(where + ".data", set.data(), train, generated));
    if (set.data().has_windows() && !comes_in_windows(train.train_data())) {
      return wrong(where + ".data.windows", "need train_data.windows, with which they are paired");
    }
  }
  return absl::OkStatus();
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
  RETURN_IF_ERROR(check_feature_schema("train", train));
  std::vector<std::string> sparse;
  std::vector<std::string> tables;
  for (const TableConfig& table : train.table()) tables.push_back(table.name());
  for (int i = 0; i < train.feature_size(); ++i) {
    const FeatureConfig& feature = train.feature(i);
    const std::string where = entry("train.feature", i, feature.name());
    RETURN_IF_ERROR(check_names(where, feature, tables));
    RETURN_IF_ERROR(check_feature(where, feature));
    RETURN_IF_ERROR(check_max_ids(where, feature.pooling(), feature.max_ids()));
    RETURN_IF_ERROR(check_crosses(where, feature, sparse));
    if (feature.kind() == FeatureConfig::SPARSE) sparse.push_back(feature.name());
  }
  return absl::OkStatus();
}

absl::Status check_tables(const TrainConfig& train) {
  std::set<std::string> names;
  for (int i = 0; i < train.table_size(); ++i) {
    const TableConfig& table = train.table(i);
    const std::string where = entry("train.table", i, table.name());
    RETURN_IF_ERROR(plain_name(where, table.name()));
    RETURN_IF_ERROR(untaken(where, table.name(), &names));
    RETURN_IF_ERROR(check_table_dim(where, table.dim()));
    RETURN_IF_ERROR(check_initializer(where + ".initializer", table.initializer()));
    RETURN_IF_ERROR(check_sparse_optimizer(where + ".optimizer", table.optimizer()));
    RETURN_IF_ERROR(check_table_policies(where, table));
    if (table.frozen() &&
        (table.has_optimizer() || table.has_admission() || table.has_eviction())) {
      return wrong(where, "it is frozen: optimizer, admission and eviction would do nothing");
    }
  }
  return absl::OkStatus();
}

absl::Status check_optimizers(const TrainConfig& train) {
  for (const PlacedSchedule& placed : schedules_of(train)) {
    RETURN_IF_ERROR(
        check_optimizer_schedule(placed.where, placed.schedule, training_totals(train)));
    const double min_rate = placed.schedule.reduce_on_plateau().min_rate();
    if (min_rate > 0 && min_rate >= placed.learning_rate) {
      return wrong(placed.where, absl::StrCat("min_rate is ", min_rate,
                                              ", so that the rate is never reduced; must be below "
                                              "learning_rate, ",
                                              placed.learning_rate));
    }
  }
  RETURN_IF_ERROR(check_dense_optimizer("train.optimizer", train.optimizer()));
  for (int i = 0; i < train.more_optimizers_size(); ++i) {
    RETURN_IF_ERROR(
        check_dense_optimizer(entry("train.more_optimizers", i), train.more_optimizers(i)));
  }
  if (train.has_clipping()) RETURN_IF_ERROR(check_clipping("train.clipping", train.clipping()));
  RETURN_IF_ERROR(check_precision("train.precision", train.precision()));
  RETURN_IF_ERROR(check_moving_average_of(train));
  return check_sparse_optimizer("train.sparse_optimizer", train.sparse_optimizer());
}

absl::Status check_run_length(const TrainConfig& train) {
  RETURN_IF_ERROR(check_limits("train", train));
  if (!comes_in_windows(train.train_data()) &&
      (train.max_windows() > 0 || train.max_steps_per_window() > 0)) {
    return wrong("train", "max_windows and max_steps_per_window need train_data.windows");
  }
  RETURN_IF_ERROR(check_step_size("train", train));
  return at_least("train.non_finite", "max_in_a_row", train.non_finite().max_in_a_row(), 1);
}

// Hooks of both parts share one space of names, which keys their state.
absl::Status check_hooks(const std::string& list,
                         const google::protobuf::RepeatedPtrField<HookConfig>& hooks,
                         std::set<std::string>* names) {
  for (int i = 0; i < hooks.size(); ++i) {
    const std::string where = entry(list, i, hooks[i].name());
    if (hooks[i].name().empty()) return wrong(where, "name is missing");
    RETURN_IF_ERROR(untaken(where, hooks[i].name(), names));
  }
  return absl::OkStatus();
}

// Rules of eviction without what they look at, or the hook that looks, would never do anything.
absl::Status check_eviction_hook(const JobConfig& config) {
  const auto is_it = [](const HookConfig& hook) { return hook.name() == kEvictionHook; };
  const auto& hooks = config.train().hooks();
  const auto& others = config.run().hooks();
  if (std::any_of(others.begin(), others.end(), is_it)) {
    return wrong("run.hooks", "evict_rows changes the result: it belongs in train.hooks");
  }
  const bool evicts = std::any_of(hooks.begin(), hooks.end(), is_it);
  const bool windows = comes_in_windows(config.train().train_data());
  for (int i = 0; i < config.train().table_size(); ++i) {
    const TableConfig& table = config.train().table(i);
    const std::string where = entry("train.table", i, table.name());
    if (table.has_eviction() && !evicts) {
      return wrong(where, "eviction is given, but train.hooks has no hook evict_rows to do it");
    }
    if (table.eviction().has_idle_windows() && !windows) {
      return wrong(where + ".eviction", "idle_windows needs train_data.windows");
    }
  }
  return absl::OkStatus();
}

absl::Status check_cadence(const std::string& where, const CadenceConfig& when) {
  RETURN_IF_ERROR(at_least(where, "every_steps", when.every_steps(), 0));
  RETURN_IF_ERROR(not_negative(where, "every_seconds", when.every_seconds()));
  RETURN_IF_ERROR(at_least(where, "every_epochs", when.every_epochs(), 0));
  return at_least(where, "every_windows", when.every_windows(), 0);
}

// Checks that a cadence in windows can come due.
absl::Status check_windows(const std::string& where, const CadenceConfig& when,
                           const TrainConfig& train) {
  if (when.every_windows() <= 0 || comes_in_windows(train.train_data())) return absl::OkStatus();
  return wrong(where, "every_windows needs train_data.windows");
}

// Sets in windows are evaluated by the trainer, one window after each window of training.
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
    if (!set.name().empty()) errors.add(untaken(where, set.name(), &seen));
    if (!set.has_when()) {
      errors.add(wrong(where,
                       "when is missing; without a cadence of its own the set needs no "
                       "entry"));
    }
    errors.add(check_cadence(where + ".when", set.when()));
    errors.add(check_windows(where + ".when", set.when(), train));
  }
  errors.add(check_windows("run.evaluation.when", evaluation.when(), train));
  return errors.status();
}

absl::Status check_distributed(const DistributedConfig& config) {
  const std::string where = "run.distributed";
  const auto seconds = [&](absl::string_view field, double value) {
    if (std::isfinite(value) && value >= 1) return absl::OkStatus();
    return wrong_number(where, field, value, "at least 1 and finite");
  };
  RETURN_IF_ERROR(seconds("rendezvous_timeout_seconds", config.rendezvous_timeout_seconds()));
  RETURN_IF_ERROR(seconds("collective_timeout_seconds", config.collective_timeout_seconds()));
  RETURN_IF_ERROR(seconds("data_timeout_seconds", config.data_timeout_seconds()));
  const double interval = config.poll_interval_seconds();
  if (std::isfinite(interval) && interval > 0) return absl::OkStatus();
  return wrong_number(where, "poll_interval_seconds", interval, "above 0 and finite");
}

absl::Status check_checkpoint(const CheckpointConfig& checkpoint) {
  const std::string where = "run.checkpoint";
  RETURN_IF_ERROR(check_cadence(where + ".when", checkpoint.when()));
  for (const CheckpointConfig::Best& best : checkpoint.keep_best()) {
    if (best.metric().find('/') != std::string::npos) continue;
    return wrong(absl::StrCat(where, ".keep_best \"", best.metric(), "\""),
                 "metric must name set and metric, such as eval/auc");
  }
  return check_saver(where, checkpoint);
}

absl::Status check_run(const RunConfig& run) {
  if (run.output_dir().empty()) return wrong("run", "output_dir is empty");
  RETURN_IF_ERROR(check_shell_path(run.output_dir()), "run: output_dir");
  RETURN_IF_ERROR(within("run", "threads", run.threads(), 0, kMostThreads));
  RETURN_IF_ERROR(
      within("run.read", "reader_threads", run.read().reader_threads(), 1, kMostThreads));
  RETURN_IF_ERROR(
      within("run.read", "prefetch_batches", run.read().prefetch_batches(), 1, kMostBatchesAhead));
  RETURN_IF_ERROR(check_distributed(run.distributed()));
  RETURN_IF_ERROR(check_checkpoint(run.checkpoint()));
  if (run.resume().empty()) return wrong("run", "resume is empty; auto, never or a path");
  RETURN_IF_ERROR(check_cadence("run.report.when", run.report().when()));
  if (run.report().when().at_start()) {
    return wrong("run.report.when",
                 "at_start is set, but a report is of the steps since the one before it: there is "
                 "nothing to report at the start");
  }
  return check_cadence("run.evaluation.when", run.evaluation().when());
}

}  // namespace

absl::Status validate(const JobConfig& config) {
  const TrainConfig& train = config.train();
  RETURN_IF_ERROR(no_nan("", config));
  RETURN_IF_ERROR(check_run_length(train));
  if (train.has_generated_data()) RETURN_IF_ERROR(check_generated(train.generated_data()));
  RETURN_IF_ERROR(
      check_data("train.train_data", train.train_data(), train, train.has_generated_data()));
  RETURN_IF_ERROR(check_evaluation_sets(train));
  RETURN_IF_ERROR(check_tables(train));
  RETURN_IF_ERROR(check_model_bank(train));
  RETURN_IF_ERROR(check_cadence("train.model_bank.reload", train.model_bank().reload()));
  RETURN_IF_ERROR(check_features(train));
  RETURN_IF_ERROR(check_tasks("train", train));
  if (train.model().name().empty()) return wrong("train.model", "name is missing");
  RETURN_IF_ERROR(check_optimizers(train));
  std::set<std::string> hooks;
  RETURN_IF_ERROR(check_hooks("train.hooks", train.hooks(), &hooks));
  RETURN_IF_ERROR(check_hooks("run.hooks", config.run().hooks(), &hooks));
  RETURN_IF_ERROR(check_eviction_hook(config));
  if (config.run().evaluation().progressive() && !comes_in_windows(train.train_data())) {
    return wrong("run.evaluation", "progressive needs train_data.windows");
  }
  for (const EvaluationSetConfig& set : train.eval_data()) {
    if (config.run().evaluation().progressive() && set.name() == "next_window") {
      return wrong("run.evaluation",
                   "progressive evaluates windows under the name next_window, "
                   "which an evaluation set has");
    }
  }
  const WindowIoConfig& window_io = config.run().window_io();
  for (const std::string& to : {window_io.move_done_to(), window_io.move_damaged_to()}) {
    if (is_uri(to)) {
      return wrong("run.window_io",
                   absl::StrCat("cannot move files to ", to, ": what is behind URIs is only read"));
    }
    RETURN_IF_ERROR(check_shell_path(to), "run.window_io");
  }
  RETURN_IF_ERROR(check_set_cadences(config.run().evaluation(), train));
  return check_run(config.run());
}

}  // namespace millrace
