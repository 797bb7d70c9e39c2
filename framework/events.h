// What hooks are told with the events of the loop.
#ifndef MILLRACE_FRAMEWORK_EVENTS_H_
#define MILLRACE_FRAMEWORK_EVENTS_H_

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
#include "checkpoint/checkpoint_info.h"
#include "framework/phase.h"
#include "framework/report/distribution.h"
#include "framework/report/reduction.h"
#include "io/windowed_dataset.h"
#include "metrics/threshold_weights.h"
#include "optim/dense_optimizer.h"

namespace millrace {

// What all ranks agree has no more data.
enum class DataEnd { kWindow, kEpoch, kStream };

// The gradients of one step, as the optimizers will apply them: summed over all micro-batches and
// ranks, divided by the examples of the step, and finite. Valid during the event only; reading
// them changes nothing.
class Gradients {
 public:
  // `sparse_norm_squared` is called at most once per question: it costs a reduction.
  Gradients(absl::Span<const NamedParameter> parameters,
            std::function<double()> sparse_norm_squared)
      : parameters_(parameters), sparse_norm_squared_(std::move(sparse_norm_squared)) {}

  // Dense parameters; the gradient of each is value.grad(), undefined where it took no part.
  absl::Span<const NamedParameter> dense() const { return parameters_; }
  // The squared norm of all table gradients, duplicates summed first; 0 without tables. That of
  // gradients clipped by value is the norm before.
  double sparse_norm_squared() const { return sparse_norm_squared_ ? sparse_norm_squared_() : 0; }

 private:
  absl::Span<const NamedParameter> parameters_;
  std::function<double()> sparse_norm_squared_;
};

// Where the time of one step went, on this rank.
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

// What became of one step (or, in evaluation, of one batch). Tensors may be kept. Those that the
// model computed, `predictions` and `values`, are on its device, in evaluation also the losses;
// others are on the CPU.
struct StepResult {
  bool applied = false;  // false: refused as non-finite; nothing changed
  std::string refused;   // then: what was not finite
  int64_t examples = 0;  // of the whole step: all micro-batches, all ranks
  // Number of times that the step was computed again, because gradients overflowed in float16.
  int64_t repeats = 0;
  at::Tensor loss;  // float32 []: mean over targets, or the sum of task_losses
  // Of a model that counts targets, else undefined: float32 [tasks], the mean over targets of each
  // task's loss; 0 of a task without any.
  at::Tensor task_losses;
  std::vector<int64_t> task_targets;  // the number of these targets; else empty
  at::Tensor predictions;             // float32 [examples of this rank, tasks]
  // float32 [examples of this rank, tasks]; not-a-number: missing
  at::Tensor labels;
  at::Tensor weights;  // float32 [examples of this rank], or undefined: all 1
  at::Tensor groups;   // int64 [examples of this rank], or undefined: the data has no groups
  // For each of TrainerOptions::slices, the ids of the examples of this rank.
  std::vector<FirstIds> slices;
  std::vector<StepValue> values;  // what the model reported, no name twice
  double learning_rate = 0;       // of the first dense optimizer, else of the tables
  // Figures of the whole step that are the same on all ranks, by name, such as "gradient_norm"
  // before clipping.
  std::vector<std::pair<std::string, double>> figures;
  StepTimings timings;
};

// Figures of one embedding table. The share of unique ids is of the ids that its lookups held: the
// distinct ones of each step; the hottest share is that of the most frequent id of each step.
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
};

// How the ranks of a job worked together since the last report, or, if that is later, since the run
// began. Means over ranks, but for owner_imbalance.
struct RankReport {
  // Shares of the time of training, in [0, 1], in which a rank waited: for other ranks to come to
  // an exchange; for owners of rows, to answer and to add up gradients; for sums of dense
  // gradients; for messages of tables that had begun to arrive.
  double other_ranks_share = 0, owners_share = 0, gradients_share = 0, transfer_share = 0;
  // Bytes that a rank sent in a step for tables: ids that it looked up, rows of its own that others
  // looked up, sums of gradients.
  double ids_bytes = 0, rows_bytes = 0, sums_bytes = 0;
  // rows_bytes of the rank that sent most, over the mean; 0 if none was sent.
  double owner_imbalance = 0;
};

// What the processes of all ranks used, since the last report.
struct ProcessReport {
  double cores = 0;            // seconds of CPU time for each second
  int64_t resident_bytes = 0;  // at the report
  int64_t major_faults = 0;    // page faults that read from a disk
  int64_t minor_faults = 0;    // the others
  int64_t bytes_read = 0;      // by read() and the like, also from the page cache
};

// What happened since the last report. Writers of reports take its numbers from the lists in
// framework/report/report_figures.h.
struct Report {
  Progress progress;
  int64_t steps = 0;               // since the last report
  int64_t examples = 0;            // since the last report
  double examples_per_second = 0;  // over the time of training, as rows_per_second
  // Ids that the training steps of all ranks looked up, duplicates included, without those of
  // frozen tables.
  double rows_per_second = 0;
  double bytes_per_second = 0;            // process.bytes_read, over the time since the last report
  double data_wait_share = 0;             // of the time since the last report, in [0, 1]
  std::map<std::string, double> metrics;  // loss, auc, logloss, …; over the steps above
  std::map<std::string, double> values;   // what hooks and the model reported
  // Optimizer → rate of the next step: "dense", "dense1", …, SparseOptimizer::learning_rates.
  std::map<std::string, double> learning_rates;
  std::map<std::string, TableReport> tables;
  std::optional<RankReport> ranks;  // of a job with several ranks
  ProcessReport process;
  // What hooks of this rank reported with HookContext::report_distribution().
  std::map<std::string, Distribution> distributions;
};

// One finished evaluation.
struct EvaluationResult {
  std::string set;
  Progress progress;  // of training, when it was made
  int64_t examples = 0;
  int64_t batches = 0;
  absl::Duration elapsed = absl::ZeroDuration();
  std::map<std::string, double> metrics;
  std::map<std::string, double> values;
  // Of each task ("TASK", "" if there is one) with a metric that knows them: what decisions at many
  // thresholds get right and wrong.
  std::map<std::string, ThresholdWeights> thresholds;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_EVENTS_H_
