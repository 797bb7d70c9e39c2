// The trainer: owns the parts and runs the loop.
#ifndef MILLRACE_FRAMEWORK_TRAINER_H_
#define MILLRACE_FRAMEWORK_TRAINER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/checkpointable.h"
#include "checkpoint/train_state.h"
#include "framework/events.h"
#include "framework/hook.h"
#include "framework/hook_list.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/best_score.h"
#include "framework/loop/checkpoint_keeper.h"
#include "framework/loop/consistency.h"
#include "framework/loop/counted_feed.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_position.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/request_server.h"
#include "framework/loop/step_runner.h"
#include "framework/loop/stop_state.h"
#include "framework/loop/trainer_state.h"
#include "framework/loop/training_clock.h"
#include "framework/model_parts.h"
#include "framework/on_error.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/table_exchange.h"
#include "framework/report/reporter.h"
#include "framework/request_queue.h"
#include "framework/summary.h"
#include "framework/trainer_parts.h"

namespace millrace {

class EmbeddingCollection;
class PhaseTimer;

// Trains and evaluates. Used by one thread, which also calls every hook. It starts one of its own,
// which cancels a dataset that gives no batch for data_timeout.
//
//   ASSIGN_OR_RETURN(auto trainer, Trainer::create(options, std::move(parts)));
//   RETURN_IF_ERROR(trainer->add_hook(std::make_unique<MyHook>()));
//   ASSIGN_OR_RETURN(Summary summary, trainer->train());
//
// Over several ranks each has a Trainer of its own, made from the same options and hooks (those
// with metrics alike, whether they write or not), and its share of the data; all of them start,
// step, evaluate and end together. docs/distributed.md says what each rank hears of the others.
//
// One step: all micro-batches of step k are in hand, and those of step k + 1 are fetched (or it is
// known that there are none); the step exchange begins; before_step; the train step with after_data
// and, in its commit exchange, the step exchange is waited for, gradients are summed and the ranks
// decide; after_backward, update; Progress advances; after_step; reports; common requests are
// served; then what single ranks asked for in the exchange. With one rank both exchanges say what
// this rank said, at the same places.
class Trainer {
 public:
  // Errors: InvalidArgument for missing parts, numbers out of range, two evaluation sets of one
  // name, tables with more than one rank; NotFound for an unknown metric.
  static absl::StatusOr<std::unique_ptr<Trainer>> create(TrainerOptions options,
                                                         TrainerParts parts);
  ~Trainer();

  // Hooks are called in the order they were added. Not during a run.
  absl::Status add_hook(std::unique_ptr<Hook> hook, OnError on_error = OnError::kFail) {
    return hooks_.add(std::move(hook), on_error);
  }
  // Adds several, all with the same OnError. Errors: of the first that cannot be added; those
  // before it stay.
  absl::Status add_hooks(std::vector<std::unique_ptr<Hook>> hooks,
                         OnError on_error = OnError::kFail);
  std::vector<std::string> hook_names() const { return hooks_.names(); }

  // Trains until the data or a limit ends it or a hook stops it. Called again, it goes on where
  // it stood. Errors: the first of a hook, the data, the model or an optimizer, after every hook
  // got `end`; summary() then tells how far it came.
  absl::StatusOr<Summary> train() { return train("train", /*evaluate_at_end=*/false); }

  // The same, and evaluates every set at the end unless the run was stopped from outside.
  absl::StatusOr<Summary> train_and_evaluate() {
    return train("train_and_evaluate", /*evaluate_at_end=*/true);
  }

  // Evaluates one of the evaluation sets. Errors: NotFound naming the nearest; those of
  // run_evaluation.
  absl::StatusOr<EvaluationResult> evaluate(absl::string_view set_name);
  // Evaluates any data. options.tasks and options.metrics default to the trainer's if empty;
  // options.compute is the trainer's.
  absl::StatusOr<EvaluationResult> evaluate(Dataset& data, EvaluationOptions options);

  // Registers something of the job's own that goes with checkpoints; borrowed. Not during a run.
  // Errors: AlreadyExists for a name that is taken, InvalidArgument for an empty one.
  absl::Status add_state(absl::string_view name, Checkpointable& object, StatePlacement placement) {
    if (running_) return absl::FailedPreconditionError("add_state() during a run");
    return state_.add_object(name, object, placement);
  }

  // Returns everything the next step depends on, between two runs. Reads the tensors of steps that
  // are not reported yet; changes nothing. Errors: FailedPrecondition during a run; those of hooks
  // and registered objects, with their names.
  absl::StatusOr<TrainState> capture() {
    if (running_) return absl::FailedPreconditionError("capture() during a run");
    return state_.capture(nullptr);
  }
  // Makes this trainer one that stands where the state was captured: train() goes on from there as
  // if nothing had been. Between runs, and before data is read. `notes` gets a line for each hook
  // or registered object that is new or gone, other data, and for a report that begins anew.
  // Errors: InvalidArgument listing all names, types and shapes of tensors and tables that differ,
  // or, where an epoch is open, the files of the training data that do (between epochs a note);
  // DataLoss for damaged parts; those of hooks and registered objects, with their names. Nothing
  // has changed then.
  absl::Status restore(LoadedState loaded, std::vector<std::string>* notes) {
    if (running_) return absl::FailedPreconditionError("restore() during a run");
    return state_.restore(std::move(loaded), notes);
  }

  // Goes on from the newest checkpoint of the saver; none: there is none. On all ranks, between
  // runs. `notes`: as of restore, of damaged checkpoints that were passed over, and of what was not
  // saved and begins anew.
  // Errors: FailedPrecondition without a saver; those of StateSaver and restore.
  absl::StatusOr<std::optional<CheckpointInfo>> resume(std::vector<std::string>* notes) {
    if (running_) return absl::FailedPreconditionError("resume() during a run");
    return checkpoints_.resume(notes);
  }
  // The same from one at `path`. Errors: NotFound too.
  absl::StatusOr<CheckpointInfo> resume_from(const std::string& path,
                                             std::vector<std::string>* notes) {
    if (running_) return absl::FailedPreconditionError("resume_from() during a run");
    return checkpoints_.resume_from(path, notes);
  }
  // Begins with what the model bank gives, where nothing is resumed; without one, as the model is.
  // On all ranks, between runs. `notes`: as of restore. Errors: those of StateLoader and restore.
  absl::Status load_model_bank(std::vector<std::string>* notes) {
    if (running_) return absl::FailedPreconditionError("load_model_bank() during a run");
    return checkpoints_.load_model_bank(notes);
  }
  // Loads dense tensors and tables that a checkpoint was saved without from the model bank, as
  // resume() does where there is something left to do. `began_with`: files that training began
  // with, as the checkpoint says; others are refused. Returns: those that no source gives, which
  // stay as they are. Errors: those of StateLoader::fill.
  using ReferredFiles = TrainerState::ReferredFiles;
  absl::StatusOr<std::vector<std::string>> load_left_out(const std::vector<std::string>& names,
                                                         const ReferredFiles& began_with) {
    return checkpoints_.load_left_out(names, began_with);
  }
  // Saves a checkpoint between runs, durable when this returns. Hooks are not notified. On all
  // ranks. Errors: FailedPrecondition without a saver, during a run, or after a run
  // that failed amid a step; those of capture() and StateSaver.
  absl::StatusOr<CheckpointInfo> save_checkpoint() {
    if (running_) return absl::FailedPreconditionError("save_checkpoint() during a run");
    return checkpoints_.save_between_runs();
  }
  // Whether training has come to its end, by its data, a limit or a decision of all ranks, and was
  // saved then: train() would have nothing to do. Why: "stopped: ...", "completed".
  std::optional<std::string> finished() const { return checkpoints_.finished(); }

  const Progress& progress() const { return position_.progress; }
  // Returns the best score so far, over resumes; none: no score is kept, or no step has had one.
  std::optional<BestSummary> best() const;
  const Summary& summary() const { return recorder_.summary(); }  // of the last run
  // Returns true once a source of data was given up: its threads may hang, and so would whoever
  // destroys the trainer. After a stop that came while data was waited for, no further run reads.
  bool data_hangs() const { return feed_.gave_up(); }
  // Leaves the job, as destroying the trainer does: ranks that still wait for this one get an
  // error. For a process that ends without destroying the trainer, because its data hangs. Takes
  // some seconds at most. Only the destructor may follow.
  void leave_job();
  Model& model() { return *parts_.model; }
  const std::vector<EmbeddingCollection*>& collections() const { return model_parts_.collections; }
  // Every dense parameter, by name.
  const std::vector<NamedParameter>& parameters() const { return model_parts_.parameters; }

 private:
  // How a pass over an epoch or a window ended.
  enum class PassEnd { kOutOfData, kCap, kInterrupted };

  Trainer(TrainerOptions options, TrainerParts parts, std::unique_ptr<PhaseTimer> timer,
          MetricSet metrics, SpanMetrics spans);
  WindowedDataset* windows() const;  // the training data, if it comes in windows; else null
  bool windowed() const { return windows() != nullptr; }
  MovingAverage* evaluated_average() const;  // null: evaluations take the parameters

  absl::StatusOr<Summary> train(absl::string_view function, bool evaluate_at_end);

  std::map<std::string, int64_t> count_rows(bool all_ranks);

  // A run: start, `body`, end. Returns: the outcome.
  template <typename Body>
  absl::Status run(Phase phase, const Body& body);

  absl::Status train_epochs();
  absl::Status check_parameters();
  absl::Status train_epoch();
  absl::Status open_epoch();
  absl::Status complete_epoch(bool out_of_data);
  absl::StatusOr<PassEnd> train_windows();
  absl::StatusOr<std::optional<WindowState>> wait_for_window(WindowedDataset& windows);
  absl::Status evaluate_window();
  absl::Status evaluate_paired(const Window& window);
  absl::Status complete_window(const Window& window, bool out_of_data);
  absl::StatusOr<PassEnd> train_pass(Place place, int64_t max_steps, bool may_be_empty);
  absl::Status check_data(const ExchangeResult& agreed, Place place) const;
  bool goes_on(const ExchangeResult& agreed) const;
  absl::Status drop_rest(std::unique_ptr<StepData> next);
  absl::StatusOr<ExchangeResult> run_step(const StepData& data, const ExchangeResult& of_step,
                                          const StepData* next);
  void advance(const StepResult& result);
  void update_elapsed();
  RankShare share(const StepData* next) const;
  absl::Status report_if_due();
  absl::Status report();
  absl::Status finish();

  const TrainerOptions options_;
  const std::unique_ptr<PhaseTimer> timer_;
  TrainerParts parts_;
  const ModelParts model_parts_;
  TrainingClock training_;
  LoopPosition position_;
  Consistency consistency_;
  StopState stop_;
  RequestQueue requests_;
  LoopRecorder recorder_;
  HookList hooks_;
  BatchFeed feed_;
  CountedFeed step_data_;  // reads from feed_
  Reporter reporter_;
  LoopContext context_;
  Agreement agreement_;
  TableExchange tables_;
  StepRunner steps_;
  Evaluations evaluations_;
  BestScore best_;
  TrainerState state_;
  CheckpointKeeper checkpoints_;
  RequestServer server_;
  bool running_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_H_
