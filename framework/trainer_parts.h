// What a trainer is made of.
#ifndef MILLRACE_FRAMEWORK_TRAINER_PARTS_H_
#define MILLRACE_FRAMEWORK_TRAINER_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "checkpoint/state_loader.h"
#include "checkpoint/state_saver.h"
#include "distributed/collectives.h"
#include "framework/cadence.h"
#include "framework/evaluator.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/best_score.h"
#include "framework/loop/limits.h"
#include "framework/paired_evaluation.h"
#include "framework/report/event_log.h"
#include "framework/report/slice_metrics.h"
#include "framework/report/span_metrics.h"
#include "framework/train_step.h"
#include "io/windowed_dataset.h"
#include "optim/dense_optimizer.h"
#include "optim/gradient_clipping.h"
#include "optim/moving_average.h"
#include "optim/sparse_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

class Model;

// The name under which windows are evaluated before they are trained on.
inline constexpr char kNextWindow[] = "next_window";

struct TrainerParts {
  // Shared because that is how LibTorch's modules hold one another; nobody else keeps it.
  std::shared_ptr<Model> model;
  std::vector<std::unique_ptr<DenseOptimizer>> dense_optimizers;
  std::unique_ptr<MovingAverage> moving_average;      // null: none is kept
  std::unique_ptr<SparseOptimizer> sparse_optimizer;  // null: the model has no tables
  std::optional<GradientClipping> clipping;           // none: gradients are not clipped
  std::unique_ptr<Dataset> train_data;  // null: only evaluate() is called; may be a WindowedDataset
  std::vector<EvaluationSet> evaluation_sets;
  // With windows to train on: sets of which one window is evaluated after each of those. Training
  // ends when the first of these streams does. Names as of evaluation_sets.
  std::vector<PairedSet> paired_sets;
  std::unique_ptr<TrainStep> train_step;     // null: the standard one
  std::unique_ptr<Collectives> collectives;  // null: one rank
  std::unique_ptr<EventLog> event_log;       // null: requests and decisions are not written
  std::unique_ptr<StateSaver> saver;         // null: requests for checkpoints are errors
  std::unique_ptr<StateLoader> model_bank;   // null: training begins with the model as it was made
  Clock* clock = nullptr;                    // borrowed; null: the real one
};

struct TrainerOptions : Limits {
  // Decide the result, as limits do.
  uint64_t seed = 1;
  int64_t micro_batches = 1;         // of one step; at least 1
  int64_t max_steps_per_epoch = 0;   // 0: none
  int64_t max_steps_per_window = 0;  // 0: none
  int64_t max_evaluation_steps = 0;  // batches of each evaluation; 0: all
  PrecisionConfig precision;         // of forward and backward passes; FLOAT32
  // With several ranks: whether an epoch (or window) ends when the first rank has no data, dropping
  // what others have left, instead of when the last has none.
  bool until_first = false;

  // Do not.
  // With a saver: whether a run saves when it ends, also by a stop. What is evaluated after the
  // last step is evaluated behind a first save, so that nothing there costs the model; the save at
  // the end then adds what the evaluations said.
  bool save_at_end = true;
  // With a saver: whether a checkpoint is made wherever an evaluation gives a new best score.
  bool save_best = true;
  // With a saver and one rank: whether a run that fails between two steps (in reading data, say) or
  // in an evaluation saves the last finished one. What fails in a step or a hook leaves hooks and
  // requests in the midst of something.
  bool save_on_failure = true;
  Cadence report = {.every_steps = 100, .at_end = true};
  std::vector<std::string> tasks = {"label"};  // names of the labels
  std::vector<std::string> metrics = {"auc", "logloss", "ne", "calibration"};
  std::vector<CustomConfig> metric_configs = {};  // messages of metrics, also of evaluation sets
  // Slices of training and of evaluations. Those without `metrics` have the metrics of all
  // examples.
  std::vector<SliceOptions> slices = {};
  SpanOptions spans = {};  // of training
  // Whether each window is evaluated, as set kNextWindow, before it is trained on.
  bool progressive_evaluation = false;
  // The score whose best value is kept. Not of kNextWindow, which is evaluated after the checkpoint
  // of its step.
  BestScoreOptions best = {};
  absl::Duration data_timeout = absl::Minutes(30);  // how long a dataset may take for one batch
  absl::Duration poll_interval = absl::Seconds(1);  // while no window is ready
};

// Checks what the trainer needs of its parts. Errors: InvalidArgument for missing parts, numbers
// out of range, two evaluation sets or two tables of one name, tables with more than one rank,
// FLOAT16 with a train step that cannot repeat; NotFound for an unknown metric of an evaluation
// set.
absl::Status check_trainer_parts(const TrainerOptions& options, const TrainerParts& parts);

// The options of its parts.
BatchFeedOptions feed_options(const TrainerOptions& options);
EvaluationOptions evaluation_defaults(const TrainerOptions& options);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_PARTS_H_
