// Saves, finds and loads the checkpoints of a trainer.
#ifndef MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_
#define MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state/state_loader.h"
#include "checkpoint/state/state_saver.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/limits.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/loop_state.h"
#include "framework/loop/trainer_state.h"
#include "framework/ranks/agreement.h"

namespace millrace {

struct CheckpointKeeperOptions {
  Limits limits;
  bool at_end = true;      // TrainerOptions::save_at_end
  bool on_failure = true;  // TrainerOptions::save_on_failure
};

// Owns and drives the saver and the model bank of a trainer. Begins every save, then polls or
// finishes it; a saver that is not asynchronous finishes a save at once. Functions that save, load
// or wait are collective: all ranks call them at the same point. Used on the trainer's thread.
class CheckpointKeeper {
 public:
  // Parts of the loop. All are borrowed and outlive this object.
  struct Parts {
    TrainerState& state;
    Evaluations& evaluations;
    HookList& hooks;
    LoopContext& context;
    Agreement& agreement;
    LoopState& loop;
    LoopRecorder& recorder;
  };

  // `saver`: null: a request for a checkpoint is an error. `model_bank`: null: training begins with
  // the model as created.
  CheckpointKeeper(const Parts& parts, std::unique_ptr<StateSaver> saver,
                   std::unique_ptr<StateLoader> model_bank, CheckpointKeeperOptions options);

  // Checks that the saver fits the tensors and tables of `state`, passes `waits` to the saver, and
  // registers a dynamic model bank as an object of the trainer's state. Called once. Errors: as
  // StateSaver::check(); AlreadyExists if the name of the bank is taken.
  absl::Status prepare(const TrainState& state, UndoWaits waits);

  void begin_run();
  // Records, once, the changes of the configuration with which training resumed.
  void record_changes();
  // Acquires the saver's destination. Called before the first step of a run. Errors: as
  // StateSaver::open().
  absl::Status open();
  // Counts a step at its beginning.
  void begin_step() { ++steps_begun_; }
  // Returns the steps begun in this run, including failed and refused steps.
  int64_t steps_begun() const { return steps_begun_; }

  // Saves the current state and reports the checkpoint to hooks: at once or, if the saver is
  // asynchronous, when a later call finds it durable. `served`: the requests that the checkpoint
  // serves, with their scope. `evaluations`: see SavePoint. `detail`: the cause for the event log
  // if no request asked for the checkpoint. Errors: FailedPrecondition without a saver; otherwise
  // as capture(), the saver and hooks.
  absl::Status save(const RequestSet& served, Scope scope, const RequestSet& evaluations = {},
                    absl::string_view detail = "");
  // Continues saves under way. `agreed`: the result of the last step's exchange, after which
  // nothing was saved.
  absl::Status poll(const ExchangeResult& agreed);
  // Waits for all saves under way.
  absl::Status finish();

  bool has_saver() const { return saver_ != nullptr; }
  // Returns StateSaver::ready(); false without a saver.
  bool save_ready() const { return has_saver() && saver_->ready(); }

  // Returns true if save_at_end() will save.
  bool will_save_at_end() const { return options_.at_end && has_saver() && steps_begun_ > 0; }
  // Saves at the end of a run and marks training as finished, unless one rank stopped the run. A
  // run without a step saves only if it finishes the training of an earlier run.
  absl::Status save_at_end();
  // Saves before the last evaluations of a run, for `requests`, since evaluations may fail or end
  // the process. The checkpoint is not marked as finished, so that the resuming run repeats the
  // evaluations. `at_end`: if true, hooks request the evaluations again when the resuming run
  // starts.
  absl::Status save_before_evaluation(const RequestSet& requests, Scope scope, bool at_end);
  // Saves after a failure if the state is consistent: on one rank, or on several ranks if all ranks
  // know each other's state to be consistent. Logs errors.
  void save_after_failure();
  // Adds the location of the saved state to the failure of an evaluation.
  absl::Status explain(const absl::Status& outcome) const;
  // Returns true if the last save failed.
  bool save_failed() const { return save_failed_; }

  // Returns StateSaver::durable_path(); "" without a saver.
  std::string durable_path(int64_t step) const {
    return has_saver() ? saver_->durable_path(step) : "";
  }

  // See Trainer::finished().
  std::optional<std::string> finished() const;

  // Returns the path of the newest checkpoint saved, or else resumed from; "": none.
  const std::string& newest() const { return newest_; }

  // Loads dynamic sources of the model bank that have changed. Errors: FailedPrecondition without a
  // dynamic source; otherwise as StateLoader::reload().
  absl::Status reload();

  // See the functions of Trainer. REQUIRES: between runs.
  absl::StatusOr<CheckpointInfo> save_between_runs();
  absl::StatusOr<std::optional<CheckpointInfo>> resume(std::vector<std::string>* notes);
  absl::StatusOr<CheckpointInfo> resume_from(const std::string& path,
                                             std::vector<std::string>* notes);
  absl::Status load_model_bank(std::vector<std::string>* notes);
  absl::StatusOr<std::vector<std::string>> load_left_out(
      const std::vector<std::string>& names, const TrainerState::ReferredFiles& began_with);

 private:
  // The cause of the save of a step.
  struct Asked {
    RequestSet requests;
    Scope scope = Scope::kCommon;
    std::string detail;
  };

  Collectives& ranks() const { return parts_.agreement.collectives(); }
  absl::Status begin_and_finish(const TrainState& state, Asked asked);
  absl::Status save_durably(const RequestSet& served, Scope scope,
                            const RequestSet& evaluations = {});
  // Returns the error of a save that was dropped in each of two attempts.
  absl::Status dropped_error() const;
  // Returns true if the newest save was not dropped. REQUIRES: no save is under way.
  bool newest_save_kept() const { return !saver_->asynchronous() || begun_is_durable_; }
  absl::Status report_durable(absl::StatusOr<std::vector<CheckpointInfo>> durable);
  absl::Status finish_after_failure(bool together);
  absl::Status apply(FoundCheckpoint found, std::vector<std::string>* notes);

  LoopPosition& position() const { return parts_.loop.position; }
  const Progress& progress() const { return parts_.loop.position.progress; }

  const Parts parts_;
  const std::unique_ptr<StateSaver> saver_;
  const std::unique_ptr<StateLoader> model_bank_;
  const CheckpointKeeperOptions options_;
  int64_t steps_begun_ = 0;
  bool save_failed_ = false;
  int64_t begun_step_ = -1;        // steps_done() at the beginning of the newest save of this run
  int64_t durable_step_ = -1;      // steps_done() at the newest durable save
  bool begun_is_durable_ = false;  // if true, the newest save of this run
  std::multimap<int64_t, Asked> asked_;  // step → causes of saves that are not durable yet
  std::string newest_;
  std::vector<std::string> changes_;  // not recorded yet
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_
