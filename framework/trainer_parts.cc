#include "framework/trainer_parts.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/signals/stop_signals.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/model.h"
#include "framework/model_parts.h"

namespace millrace {
namespace {

absl::Status check_options(const TrainerOptions& options) {
  if (options.micro_batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro_batches is ", options.micro_batches, "; must be at least 1"));
  }
  if (options.max_steps < 0 || options.max_epochs < 0 || options.max_windows < 0 ||
      options.max_steps_per_epoch < 0 || options.max_steps_per_window < 0 ||
      options.max_evaluation_steps < 0 || options.max_elapsed < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a limit is negative; 0 means none");
  }
  if (options.data_timeout <= absl::ZeroDuration() ||
      options.poll_interval <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("data_timeout and poll_interval must be above 0");
  }
  return absl::OkStatus();
}

absl::Status check_evaluation_sets(const TrainerParts& parts) {
  std::set<std::string> names;
  for (const EvaluationSet& set : parts.evaluation_sets) {
    if (names.insert(set.name).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two evaluation sets are named \"", set.name, "\""));
  }
  const bool windowed = dynamic_cast<WindowedDataset*>(parts.train_data.get()) != nullptr;
  if (!parts.paired_sets.empty() && !windowed) {
    return absl::InvalidArgumentError("paired evaluation sets, but no windows to train on");
  }
  return absl::OkStatus();
}

absl::Status check_tables(const TrainerParts& parts) {
  const int ranks = parts.collectives == nullptr ? 1 : parts.collectives->world_size();
  std::set<std::string> names;
  for (const EmbeddingCollection* collection : collections_of(*parts.model)) {
    for (const auto& table : collection->tables()) {
      if (ranks > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("the model has tables (\"", table->name(), "\" first), which ", ranks,
                         " ranks cannot share yet; use one rank, or a model without tables"));
      }
      if (names.insert(std::string(table->name())).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two tables of the model are named \"", table->name(), "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_trainer_parts(const TrainerOptions& options, const TrainerParts& parts) {
  if (parts.model == nullptr) return absl::InvalidArgumentError("the trainer has no model");
  RETURN_IF_ERROR(check_options(options));
  RETURN_IF_ERROR(check_evaluation_sets(parts));
  return check_tables(parts);
}

BatchFeedOptions feed_options(const TrainerOptions& options) {
  return {.micro_batches = options.micro_batches,
          .tasks = static_cast<int64_t>(options.tasks.size()),
          .data_timeout = options.data_timeout,
          .stop_waiting = [] { return noted_stop_signal() != 0; }};
}

EvaluationOptions evaluation_defaults(const TrainerOptions& options) {
  return {.tasks = options.tasks,
          .metrics = options.metrics,
          .max_steps = options.max_evaluation_steps};
}

}  // namespace millrace
