// Arguments of the events of hooks.
#ifndef MILLRACE_HOOK_EVENTS_H_
#define MILLRACE_HOOK_EVENTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "checkpoint/state/checkpoint_info.h"
#include "hook/phase.h"
#include "hook/reported_value.h"
#include "io/windowed_dataset.h"
#include "metrics/threshold_weights.h"
#include "optim/dense/dense_optimizer.h"

namespace millrace {

// The scope that all ranks agree has no more data.
enum class DataEnd { kWindow, kEpoch, kStream };

// The gradients of one step as the optimizers will apply them: summed over all micro-batches and
// ranks, divided by the examples of the step, and finite. Valid only during the event. Reading the
// gradients changes nothing.
class Gradients {
 public:
  // Each call of sparse_norm_squared() calls `sparse_norm_squared` once, which costs a reduction.
  Gradients(absl::Span<const NamedParameter> parameters,
            std::function<double()> sparse_norm_squared)
      : parameters_(parameters), sparse_norm_squared_(std::move(sparse_norm_squared)) {}

  // Returns the dense parameters. value.grad() is the gradient of a parameter, undefined if the
  // parameter had no part in the step.
  absl::Span<const NamedParameter> dense() const { return parameters_; }
  // Returns the squared norm of all table gradients, duplicates summed first; 0 without tables. For
  // gradients clipped by value, the norm before clipping.
  double sparse_norm_squared() const { return sparse_norm_squared_ ? sparse_norm_squared_() : 0; }

 private:
  absl::Span<const NamedParameter> parameters_;
  std::function<double()> sparse_norm_squared_;
};

// Time of each phase of one step on this rank.
struct StepTimings {
  absl::Duration data_wait = absl::ZeroDuration();
  absl::Duration forward = absl::ZeroDuration();
  absl::Duration backward = absl::ZeroDuration();
  absl::Duration update = absl::ZeroDuration();
};

// The first id of each example for one sparse feature.
struct FirstIds {
  at::Tensor ids;      // int64 [examples]; 0 for an example without an id
  at::Tensor present;  // bool [examples]; false for an example without an id
};

// A value that the model reported in a step, reduced over its micro-batches.
struct StepValue {
  std::string name;
  at::Tensor value;  // float32 []
  Reduction reduction = Reduction::kMean;
  at::Tensor weight = {};  // float32 [], of a mean; undefined: 1
};

// Outcome of one step (or, in evaluation, of one batch). A hook may keep the tensors. `predictions`
// and `values` are on the model's device, in evaluation also the losses; all other tensors are on
// the CPU.
struct StepResult {
  bool applied = false;  // false: refused as non-finite; nothing changed
  std::string refused;   // then: what was not finite
  // Examples of all micro-batches of the step on all ranks; in evaluation, of a batch of this rank.
  int64_t examples = 0;
  // Number of times that the step was recomputed because gradients overflowed in float16.
  int64_t repeats = 0;
  at::Tensor loss;  // float32 []: mean over targets, or the sum of task_losses
  // One number: the sum of ModelOutput::targets, by which `loss` was divided. The loss is 0 where
  // this sum is 0. Undefined if the model gave no targets.
  at::Tensor loss_targets;
  // float32 [tasks]: the mean loss of each task over its targets, 0 for a task without targets.
  // Undefined unless the model counts targets.
  at::Tensor task_losses;
  std::vector<int64_t> task_targets;  // number of targets of each task; empty unless counted
  at::Tensor predictions;             // float32 [examples of this rank, tasks]
  // float32 [examples of this rank, tasks]; not-a-number for a missing label
  at::Tensor labels;
  at::Tensor weights;  // float32 [examples of this rank], or undefined: all 1
  at::Tensor groups;   // int64 [examples of this rank], or undefined: the data has no groups
  // The ids of this rank's examples, for each of TrainerOptions::slices.
  std::vector<FirstIds> slices;
  std::vector<StepValue> values;  // reported by the model; no name occurs twice
  double learning_rate = 0;       // of the first dense optimizer, else of the tables
  // Figures of the whole step, by name, equal on all ranks. Example: "gradient_norm", before
  // clipping.
  std::vector<std::pair<std::string, double>> figures;
  StepTimings timings;
};

// Figures of one embedding table. All shares are relative to the number of ids looked up: the
// unique share counts the distinct ids of each step, the hottest share the most frequent id of each
// step, the unknown share the ids without a row, which a frozen table or admission leaves without.
struct TableReport {
  int64_t rows = 0;
  int64_t bytes = 0;
  double load = 0;         // the share of the id map's entries in use
  int64_t candidates = 0;  // ids without a row that have an exact count
  // Since the last report:
  int64_t inserted = 0;                    // rows
  std::map<std::string, int64_t> evicted;  // reason → rows, without zeros
  int64_t unadmitted = 0;                  // occurrences of ids that read the default value
  double unique_share = 0;                 // in [0, 1]; 0 if nothing was looked up
  double hottest_share = 0;                // the same
  double unknown_share = 0;                // the same, also of frozen tables
};

// Cooperation of the ranks of a job since the last report or since the run began, if the run began
// later. All figures except owner_imbalance are means over ranks.
struct RankReport {
  // Shares of training time, in [0, 1], in which a rank waited: for other ranks to join an
  // exchange; for row owners to answer and to sum gradients; for sums of dense gradients; for the
  // rest of table messages that had begun to arrive.
  double other_ranks_share = 0, owners_share = 0, gradients_share = 0, transfer_share = 0;
  // Bytes that a rank sent for tables per step: ids to look up, own rows that other ranks looked
  // up, and sums of gradients.
  double ids_bytes = 0, rows_bytes = 0, sums_bytes = 0;
  // rows_bytes of the rank that sent most, divided by the mean; 0 if no rank sent rows.
  double owner_imbalance = 0;
};

// Resources that the processes of all ranks used since the last report.
struct ProcessReport {
  double cores = 0;            // seconds of CPU time per second
  int64_t resident_bytes = 0;  // at the report
  int64_t major_faults = 0;    // page faults that read from a disk
  int64_t minor_faults = 0;    // the others
  int64_t bytes_read = 0;      // by read() and the like, also from the page cache
};

// Figures of training since the last report. framework/report/report_figures.h lists the figures
// for writers of reports.
struct Report {
  Progress progress;
  int64_t steps = 0;               // since the last report
  int64_t examples = 0;            // since the last report
  double examples_per_second = 0;  // over the time of training, as rows_per_second
  // Ids that the training steps of all ranks looked up, duplicates included, frozen tables
  // excluded.
  double rows_per_second = 0;
  double bytes_per_second = 0;            // process.bytes_read, over the time since the last report
  double data_wait_share = 0;             // of the time since the last report, in [0, 1]
  std::map<std::string, double> metrics;  // loss, auc, logloss, …; over the steps above
  std::map<std::string, double> values;   // reported by hooks and the model
  // Optimizer → rate of the next step: "dense", "dense1", …, SparseOptimizer::learning_rates.
  std::map<std::string, double> learning_rates;
  std::map<std::string, TableReport> tables;
  std::optional<RankReport> ranks;  // of a job with several ranks
  ProcessReport process;
  // Histograms that hooks of this rank reported with HookContext::report_distribution().
  std::map<std::string, Distribution> distributions;
};

// Returns true if `report` covers less than half of `steps_before`, the steps of the report before.
// The metrics of such a report, such as the last one of a run, are not typical of training.
inline bool is_short(const Report& report, int64_t steps_before) {
  return 2 * report.steps < steps_before;
}

// One finished evaluation.
struct EvaluationResult {
  std::string set;
  Progress progress;  // of training, when it was made
  int64_t examples = 0;
  int64_t batches = 0;
  absl::Duration elapsed = absl::ZeroDuration();
  std::map<std::string, double> metrics;
  std::map<std::string, double> values;
  // Weights of right and wrong decisions at many thresholds, by task ("" if there is one task).
  // Holds each task with a metric that counts them.
  std::map<std::string, ThresholdWeights> thresholds;
  // Table → share of its lookups whose ids have no row, in [0, 1]. Omits tables that were not
  // looked up, and tables without rows.
  std::map<std::string, double> unknown_shares;
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_EVENTS_H_
