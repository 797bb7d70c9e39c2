// Metrics over a data set, without any change to the model.
#ifndef MILLRACE_FRAMEWORK_LOOP_EVALUATOR_H_
#define MILLRACE_FRAMEWORK_LOOP_EVALUATOR_H_

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "framework/loop/evaluation_options.h"
#include "framework/loop/hook_list.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/metric_set.h"
#include "framework/report/reported_values.h"
#include "hook/events.h"
#include "io/dataset.h"
#include "io/windowed_dataset.h"
#include "proto/config.pb.h"

namespace millrace {

class Model;

// Keeps the ranks of an evaluation in step; implemented by the trainer. Every function that returns
// a status is collective, and an error ends the evaluation on all ranks.
class EvaluationRanks {
 public:
  virtual ~EvaluationRanks() = default;
  // Returns the next batch of the data; none at its end.
  virtual absl::StatusOr<std::optional<Batch>> next(Dataset& data) = 0;
  // Opens the next window of the data. None: the stream has ended, no window is ready, a rank asked
  // to stop, or a rank passed `time_is_up`.
  virtual absl::StatusOr<std::optional<Window>> next_window(WindowedDataset& windows,
                                                            bool time_is_up) = 0;
  // Begins an exchange about the continuation after the current batch. `next`: this rank's next
  // batch; null: none.
  virtual void start(const Batch* next) = 0;
  // Completes the exchange. Returns true if any rank has a next batch and no rank asked to stop.
  virtual absl::StatusOr<bool> finish() = 0;
  // Returns true if finish() must be called before, not after, the evaluation of the current batch,
  // because fetch() waits for other ranks. Default: false.
  virtual bool agrees_first() const { return false; }
  // Fetches from other ranks everything that the evaluation of the batch needs. `begun`: the status
  // of this rank's hooks for the batch; a rank that failed takes part as failed. Returns `begun`,
  // or an error. Default: returns `begun`.
  virtual absl::Status fetch(const Batch& batch, absl::Status begun) { return begun; }
  // Returns true if a rank asked to stop.
  virtual bool stopped() const = 0;
  // Merges the figures of all ranks. Called after the last batch.
  virtual absl::Status merge(std::initializer_list<RankPart*> parts) = 0;
};

// Calls the model's begin_evaluation and evaluates one epoch of `data` in evaluation mode, without
// gradients; of a WindowedDataset the windows that are ready, up to the limits. Calls before_step,
// after_data and after_step for each batch and the events of windows; the caller is responsible for
// the surrounding events. If a rank's data ends early, the rank continues with empty batches.
// Parameters, tables, the model's training mode and random generators are unchanged afterwards.
// `values` collects the values of hooks during the evaluation and is moved into the result. Returns
// none if a rank asked to stop. Errors: of the data, the model and hooks, annotated with the set's
// name; InvalidArgument if no rank has an example.
absl::StatusOr<std::optional<EvaluationResult>> run_evaluation(
    Model& model, Dataset& data, const EvaluationOptions& options, const Progress& progress,
    HookContext& context, HookList& hooks, EvaluationRanks& ranks, ReportedValues& values,
    const Clock& clock);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_EVALUATOR_H_
