#include "framework/trainer_parts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/state/state_loader.h"
#include "checkpoint/state/state_saver.h"
#include "distributed/collectives.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/limits.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "framework/precision/loss_scaler.h"
#include "framework/report/event_log.h"
#include "io/windowed_dataset.h"
#include "metrics/metric.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/moving_average.h"
#include "optim/sparse_optimizer.h"
#include "proto/config.pb.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns the numbers of `options` that have rules in TrainConfig. An infinite limit is omitted.
TrainConfig numbers_of(const TrainerOptions& options) {
  TrainConfig numbers;
  numbers.set_max_steps(options.max_steps);
  numbers.set_max_epochs(options.max_epochs);
  numbers.set_max_seconds(
      std::min(absl::ToDoubleSeconds(options.max_elapsed), std::numeric_limits<double>::max()));
  numbers.set_max_steps_per_epoch(options.max_steps_per_epoch);
  numbers.set_max_windows(options.max_windows);
  numbers.set_max_steps_per_window(options.max_steps_per_window);
  numbers.set_max_windows_per_epoch(options.max_windows_per_epoch);
  numbers.set_max_evaluation_steps(options.evaluation_limits.max_steps);
  numbers.set_max_evaluation_windows(options.evaluation_limits.max_windows);
  numbers.set_max_evaluation_seconds(
      std::min(absl::ToDoubleSeconds(options.evaluation_limits.max_elapsed),
               std::numeric_limits<double>::max()));
  numbers.set_micro_batches(options.micro_batches);
  return numbers;
}

absl::Status check_options(const TrainerOptions& options) {
  RETURN_IF_ERROR(check_own_ranges("the trainer's options", numbers_of(options)));
  if (options.data_timeout <= absl::ZeroDuration() ||
      options.poll_interval <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("data_timeout and poll_interval must be above 0");
  }
  return absl::OkStatus();
}

absl::Status check_evaluation_sets(const TrainerOptions& options, const TrainerParts& parts) {
  std::set<std::string> names;
  const auto check = [&](const std::string& name,
                         const std::vector<std::string>& metrics) -> absl::Status {
    const std::string where = absl::StrCat("evaluation set \"", name, "\"");
    RETURN_IF_ERROR(check_unique(where, name, &names));
    for (const std::string& metric : metrics) {
      RETURN_IF_ERROR(create_metric(metric, options.metric_configs).status(), where);
    }
    return absl::OkStatus();
  };
  for (const EvaluationSet& set : parts.evaluation_sets) {
    RETURN_IF_ERROR(check(set.name, set.metrics));
  }
  for (const PairedSet& set : parts.paired_sets) RETURN_IF_ERROR(check(set.name, set.metrics));
  const bool windowed = dynamic_cast<WindowedDataset*>(parts.train_data.get()) != nullptr;
  if (!parts.paired_sets.empty() && !windowed) {
    return absl::InvalidArgumentError("paired evaluation sets, but no windows to train on");
  }
  return absl::OkStatus();
}

absl::Status check_tables(const TrainerParts& parts) {
  std::set<std::string> names;
  for (const EmbeddingCollection* collection : collections_of(*parts.model)) {
    for (const auto& table : collection->tables()) {
      if (names.insert(std::string(table->name())).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two tables of the model are named \"", table->name(), "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

TrainerParts::TrainerParts() = default;
TrainerParts::TrainerParts(TrainerParts&& other) noexcept = default;
TrainerParts& TrainerParts::operator=(TrainerParts&& other) noexcept = default;
TrainerParts::~TrainerParts() = default;

absl::Status check_trainer_parts(const TrainerOptions& options, const TrainerParts& parts) {
  if (parts.model == nullptr) return absl::InvalidArgumentError("the trainer has no model");
  RETURN_IF_ERROR(check_options(options));
  RETURN_IF_ERROR(check_evaluation_sets(options, parts));
  RETURN_IF_ERROR(check_precision("the trainer's precision", options.precision));
  if (options.precision.compute() == PrecisionConfig::FLOAT16 && parts.train_step != nullptr &&
      !parts.train_step->can_repeat()) {
    return absl::InvalidArgumentError(
        "the trainer's precision: FLOAT16 repeats a step whose gradients overflow, and this train "
        "step cannot repeat one (TrainStep::can_repeat); use BFLOAT16 or another train step");
  }
  return check_tables(parts);
}

}  // namespace millrace
