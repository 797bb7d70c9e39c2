// The loop of training, with all its parts.
#ifndef MILLRACE_FRAMEWORK_TRAINER_LOOP_H_
#define MILLRACE_FRAMEWORK_TRAINER_LOOP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "embedding/rows/undo_budget.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/checkpoint_keeper.h"
#include "framework/loop/evaluation_options.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/loop_state.h"
#include "framework/loop/request_server.h"
#include "framework/loop/step_runner.h"
#include "framework/loop/trained_model.h"
#include "framework/loop/trainer_state.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/commit_exchange.h"
#include "framework/ranks/table_exchange.h"
#include "framework/report/report_watch.h"
#include "framework/report/reporter.h"
#include "framework/report/resource_use.h"
#include "framework/report/summary.h"
#include "framework/trainer_parts.h"
#include "hook/phase.h"
#include "hook/request_queue.h"
#include "io/windowed_dataset.h"

namespace millrace {

class PhaseTimer;

// Owns the parts of a trainer and runs the loop over them; see class Trainer. Each part borrows
// other parts, and none refers to the loop. docs/architecture.md lists the parts and shows how the
// functions of this class call each other. Used on the trainer's thread.
class TrainerLoop {
 public:
  // REQUIRES: check_trainer_parts() accepts `options` and `parts`; train_step, collectives and
  // clock of `parts` exist; `timer` gets the phases of the collectives; the metrics were created
  // with the options.
  TrainerLoop(TrainerOptions options, TrainerParts parts, std::unique_ptr<PhaseTimer> timer,
              MetricSet metrics, SpanMetrics spans);
  ~TrainerLoop();

  // Registers the parts whose state checkpoints include by name, and checks that the saver fits the
  // model. Called once, before all other functions. Errors: AlreadyExists for two paired sets of
  // one name; otherwise as StateSaver::check().
  absl::Status register_states();

  // See Trainer::train(). `function`: for error messages.
  absl::StatusOr<Summary> train(absl::string_view function, const RunLimits& limits,
                                bool evaluate_at_end);
  // See the functions of Trainer.
  absl::StatusOr<EvaluationResult> evaluate(Dataset& data, EvaluationOptions options);
  absl::StatusOr<std::map<std::string, int64_t>> count_rows();
  std::optional<BestSummary> best() const;
  const Progress& progress() const { return loop_.position.progress; }
  const Summary& summary() const { return recorder_.summary(); }
  bool data_hangs() const { return feed_.gave_up(); }
  void leave_job();

  // Returns OK between two runs. Errors: FailedPrecondition naming `function`.
  absl::Status check_between_runs(absl::string_view function) const;

  // Parts with functions that callers use between runs.
  HookList& hooks() { return hooks_; }
  Evaluations& evaluations() { return evaluations_; }
  TrainerState& state() { return state_; }
  CheckpointKeeper& checkpoints() { return checkpoints_; }
  TrainedModel& model() { return model_; }

 private:
  // Reason why a pass over an epoch or a window ended.
  enum class PassEnd { kOutOfData, kCap, kInterrupted };

  WindowedDataset* windows() const;  // the training data, if it comes in windows; else null
  bool windowed() const { return windows() != nullptr; }

  UndoWaits undo_waits();
  RunFigures run_figures(bool trains) const;
  void count_over_ranks(RunFigures& figures);
  absl::Status sum_over_ranks(absl::Span<int64_t* const> counts);

  // Executes a run: start, `body`, end. Returns the outcome.
  template <typename Body>
  absl::Status run(Phase phase, const Body& body);

  absl::Status train_epochs();
  void compare_parameters();
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
  bool has_next_step(const ExchangeResult& agreed) const;
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
  TrainerParts parts_;  // except those that a part below owns
  TrainedModel model_;
  TrainingClock training_;
  LoopState loop_;
  RequestQueue requests_;
  LoopRecorder recorder_;
  HookList hooks_;
  BatchFeed feed_;
  CountedFeed step_data_;  // reads from feed_
  Reporter reporter_;
  ReportWatch watch_;
  LoopContext context_;
  Agreement agreement_;
  TableExchange tables_;
  CommitExchange commit_;
  StepRunner steps_;
  Evaluations evaluations_;
  TrainerState state_;
  CheckpointKeeper checkpoints_;
  RequestServer server_;
  bool running_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAINER_LOOP_H_
