// Metrics over a data set, with nothing changed.
#ifndef MILLRACE_FRAMEWORK_EVALUATOR_H_
#define MILLRACE_FRAMEWORK_EVALUATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "framework/events.h"
#include "framework/hook_list.h"
#include "framework/report/metric_set.h"
#include "framework/report/reported_values.h"
#include "io/dataset.h"
#include "proto/config.pb.h"

namespace millrace {

class Model;

// Data that is evaluated under a name.
struct EvaluationSet {
  std::string name;
  std::unique_ptr<Dataset> data;
  std::vector<std::string> metrics = {};  // names; none: those of the trainer
  std::string no_examples = "";           // see EvaluationOptions
};

struct EvaluationOptions {
  std::string name = "eval";
  std::vector<std::string> tasks;    // names of the labels
  std::vector<std::string> metrics;  // names of metrics
  // The error of data without examples; "": one that only says so.
  std::string no_examples;
  std::vector<CustomConfig> metric_configs;  // messages of metrics
  std::vector<SliceOptions> slices;          // without `metrics`: those above
  int64_t max_steps = 0;                     // batches (of each rank) at most; 0: all
  PrecisionConfig::Compute compute = PrecisionConfig::FLOAT32;  // of forward passes
};

// How the ranks of an evaluation stay in step; the trainer's. Every call is collective, and an
// error ends the evaluation on all ranks.
class EvaluationRanks {
 public:
  virtual ~EvaluationRanks() = default;
  // The next batch of the data, or none at its end.
  virtual absl::StatusOr<std::optional<Batch>> next(Dataset& data) = 0;
  // Begins to agree on what follows the batch in hand; `next`: this rank's next batch, null: none.
  virtual void start(const Batch* next) = 0;
  // Whether any rank has a next batch and none wants to stop.
  virtual absl::StatusOr<bool> finish() = 0;
  // Returns true if finish() is to be called before the batch in hand is evaluated, and not after:
  // where fetch() waits for other ranks. Default: false.
  virtual bool agrees_first() const { return false; }
  // Fetches what evaluating the batch needs from other ranks. `begun`: what this rank's hooks said
  // of the batch; a rank that failed takes part as failed. Returns: `begun`, or an error. Default:
  // does nothing.
  virtual absl::Status fetch(const Batch& batch, absl::Status begun) { return begun; }
  // Whether a rank wanted to stop.
  virtual bool stopped() const = 0;
  // After the last batch: makes the figures of all ranks one.
  virtual absl::Status merge(MetricSet& metrics, ReportedValues& values) = 0;
};

// Calls the model's begin_evaluation, runs it over one epoch of `data` in evaluation mode, without
// gradients, and fires before_step, after_data and after_step for each batch; the caller fires what
// is around. Ranks whose data ends before that of others go on with empty batches. Leaves
// parameters, tables, the model's training mode and random generators as they were. `values` are
// those that hooks reported meanwhile, taken into the result. Returns: none if a rank asked to
// stop. Errors: those of the data, the model and hooks, annotated with the set's name;
// InvalidArgument if there is no example on any rank.
absl::StatusOr<std::optional<EvaluationResult>> run_evaluation(
    Model& model, Dataset& data, const EvaluationOptions& options, const Progress& progress,
    HookContext& context, HookList& hooks, EvaluationRanks& ranks, ReportedValues& values,
    Clock& clock);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_EVALUATOR_H_
