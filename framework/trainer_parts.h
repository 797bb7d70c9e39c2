// Parts and options of a trainer.
#ifndef MILLRACE_FRAMEWORK_TRAINER_PARTS_H_
#define MILLRACE_FRAMEWORK_TRAINER_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "framework/loop/best_score.h"
#include "framework/loop/evaluation_options.h"
#include "framework/loop/limits.h"
#include "framework/report/slice_and_span_options.h"
#include "hook/cadence.h"
#include "io/dataset.h"
#include "optim/gradient_clipping.h"
#include "proto/config.pb.h"

namespace millrace {

class Clock;
class Collectives;
class DenseOptimizer;
class EventLog;
class Model;
class MovingAverage;
class SparseOptimizer;
class StateLoader;
class StateSaver;
class TrainStep;

// Name of the evaluation of each window before training on the window.
inline constexpr char kNextWindow[] = "next_window";

// The objects that a trainer works with. A source that fills a part includes the header of its
// class.
struct TrainerParts {
  TrainerParts();
  TrainerParts(TrainerParts&& other) noexcept;
  TrainerParts& operator=(TrainerParts&& other) noexcept;
  ~TrainerParts();

  // Shared because LibTorch's modules hold one another by shared pointers; only the trainer keeps
  // it.
  std::shared_ptr<Model> model;
  std::vector<std::unique_ptr<DenseOptimizer>> dense_optimizers;
  std::unique_ptr<MovingAverage> moving_average;      // null: none is kept
  std::unique_ptr<SparseOptimizer> sparse_optimizer;  // null: the model has no tables
  std::optional<GradientClipping> clipping;           // none: gradients are not clipped
  std::unique_ptr<Dataset> train_data;  // null: only evaluate() is called; may be a WindowedDataset
  std::vector<EvaluationSet> evaluation_sets;
  // Evaluation sets that come in windows, for training data in windows. One window of each set is
  // evaluated after each training window. Training ends when the first of these streams ends. Names
  // follow the rules of evaluation_sets.
  std::vector<PairedSet> paired_sets;
  std::unique_ptr<TrainStep> train_step;     // null: the standard one
  std::unique_ptr<Collectives> collectives;  // null: one rank
  std::unique_ptr<EventLog> event_log;       // null: requests and decisions are not recorded
  std::unique_ptr<StateSaver> saver;         // null: requests for checkpoints are errors
  std::unique_ptr<StateLoader> model_bank;   // null: training begins with the model as created
  Clock* clock = nullptr;                    // borrowed; null: the real one
};

struct TrainerOptions : Limits {
  // Options that determine the result, as the limits do.
  uint64_t seed = 1;
  int64_t micro_batches = 1;         // of one step; at least 1
  int64_t max_steps_per_epoch = 0;   // 0: none
  int64_t max_steps_per_window = 0;  // 0: none
  // With data in windows; 0: an epoch is the whole stream. The next epoch continues the stream.
  int64_t max_windows_per_epoch = 0;
  EvaluationLimits evaluation_limits = {};
  PrecisionConfig precision = {};  // of forward and backward passes; FLOAT32
  // If true, an epoch (or window) of several ranks ends when the first rank has no data, and the
  // remaining data of the other ranks is dropped. If false, the epoch ends when the last rank has
  // none.
  bool until_first = false;

  // Options that do not affect the result.
  //
  // If true and the trainer has a saver, a run saves when it ends, also when it is stopped. If sets
  // are evaluated after the last step, a first save precedes the evaluations, so that their failure
  // does not cost the model. The save at the end then adds the results of the evaluations.
  bool save_at_end = true;
  // If true and the trainer has a saver, evaluations with a new best score are followed by a
  // checkpoint.
  bool save_best = true;
  // If true and the trainer has a saver, a run of one rank that fails between two steps (in reading
  // data, say), and a run whose evaluation fails, also by a hook in it, save the last finished
  // step. Another failure in a step or a hook is not followed by a save, because hooks and requests
  // may be incomplete.
  bool save_on_failure = true;
  Cadence report = {.every_steps = 100, .at_end = true};
  int64_t total_steps = 0;  // of training over all resumes, for every_share; 0: not known
  std::vector<std::string> tasks = {"label"};  // names of the labels
  std::vector<std::string> metrics = {"auc", "logloss", "ne", "calibration"};
  std::vector<CustomConfig> metric_configs = {};  // messages of metrics, also of evaluation sets
  // Slices of training and of evaluations. Slices without `metrics` use the metrics of all
  // examples.
  std::vector<SliceOptions> slices = {};
  SpanOptions spans = {};  // of training
  // If true, each window is evaluated, as set kNextWindow, before training on the window.
  bool progressive_evaluation = false;
  // Score whose best value is kept. kNextWindow cannot be a term, because it is evaluated after the
  // checkpoint of its step.
  BestScoreOptions best = {};
  // If true, a step that is refused as non-finite is logged with the operation that caused it
  // (AnomalyWatch). Steps are several times as slow.
  bool detect_anomaly = false;
  absl::Duration data_timeout = absl::Minutes(30);  // limit on the wait for one batch
  absl::Duration poll_interval = absl::Seconds(1);  // while no window is ready
};

// Checks parts and options. Errors: InvalidArgument for missing parts, numbers out of range, two
// evaluation sets or two tables of one name, FLOAT16 with a train step that cannot repeat; NotFound
// for an unknown metric of an evaluation set.
absl::Status check_trainer_parts(const TrainerOptions& options, const TrainerParts& parts);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_PARTS_H_
