// Makes, finds and loads the checkpoints of a trainer.
#ifndef MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_
#define MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state_loader.h"
#include "checkpoint/state_saver.h"
#include "framework/hook_list.h"
#include "framework/loop/consistency.h"
#include "framework/loop/evaluations.h"
#include "framework/loop/limits.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/loop_position.h"
#include "framework/loop/loop_recorder.h"
#include "framework/loop/stop_state.h"
#include "framework/loop/trainer_state.h"
#include "framework/ranks/agreement.h"

namespace millrace {

struct CheckpointKeeperOptions {
  Limits limits;
  bool at_end = true;      // TrainerOptions::save_at_end
  bool on_failure = true;  // TrainerOptions::save_on_failure
};

// Drives the saver and the model bank of a trainer. Begins every save, then polls or finishes it; a
// saver that is not asynchronous finishes a save at once. Functions that save, load or wait are
// collective: all ranks call them at the same point. Used on the trainer's thread.
class CheckpointKeeper {
 public:
  // The parts of the loop that it uses. All are borrowed and outlive it.
  struct Parts {
    StateSaver* saver;        // null: a request for a checkpoint is an error
    StateLoader* model_bank;  // null: training begins with the model as it was made
    TrainerState& state;
    Evaluations& evaluations;
    HookList& hooks;
    LoopContext& context;
    Agreement& agreement;
    Consistency& consistency;
    LoopPosition& position;
    const StopState& stop;
    LoopRecorder& recorder;
  };

  CheckpointKeeper(const Parts& parts, CheckpointKeeperOptions options)
      : parts_(parts), options_(options) {}

  void begin_run();
  // Acquires the saver's place, before the first step of a run. Errors: those of StateSaver::open.
  absl::Status open();
  // Counts a step that begins.
  void begin_step() { ++steps_begun_; }
  // Steps begun in this run, failed and refused ones too.
  int64_t steps_begun() const { return steps_begun_; }

  // Saves the state as it is now and reports the checkpoint to hooks, at once or, if the saver is
  // asynchronous, when a later call finds it durable. `served`: the requests whose serving makes
  // it, of this scope; `evaluations`: as of SavePoint. `detail`: for the event log, what made it
  // where no request did. Errors: FailedPrecondition without a saver;
  // those of capture(), the saver and hooks.
  absl::Status save(const RequestSet& served, Scope scope, const RequestSet& evaluations = {},
                    absl::string_view detail = "");
  // Continues saves under way. `agreed`: of the exchange of the step that was just made, since when
  // nothing was saved.
  absl::Status poll(const ExchangeResult& agreed);
  // Waits for all saves under way.
  absl::Status finish();

  bool has_saver() const { return parts_.saver != nullptr; }

  // True if save_at_end() will save.
  bool will_save_at_end() const {
    return options_.at_end && parts_.saver != nullptr && steps_begun_ > 0;
  }
  // Saves at the end of a run and marks training as finished, unless one rank stopped it. A run
  // that made no step saves only if it ends what another began.
  absl::Status save_at_end();
  // Saves before the last evaluations of a run, for `requests`: these may fail, or end the process.
  // The checkpoint is not marked as finished, so that a run that resumes from it evaluates.
  // `at_end`: hooks ask for the evaluations again when that run starts.
  absl::Status save_before_evaluation(const RequestSet& requests, Scope scope, bool at_end);
  // Saves after a failure, where the state is consistent: on one rank, or on several ranks that
  // know it of one another. Logs what fails.
  void save_after_failure();
  // Adds where training is saved to the failure of an evaluation.
  absl::Status explain(const absl::Status& outcome) const;
  // True if the last save failed.
  bool save_failed() const { return save_failed_; }

  // As of StateSaver::durable_path; "" without a saver.
  std::string durable_path(int64_t step) const {
    return parts_.saver == nullptr ? "" : parts_.saver->durable_path(step);
  }

  // As of Trainer::finished.
  std::optional<std::string> finished() const;

  // Path of the newest checkpoint that was saved, or else resumed from; "": none.
  const std::string& newest() const { return newest_; }

  // Loads dynamic sources of the model bank that have changed. Errors: FailedPrecondition without
  // any; those of StateLoader::reload.
  absl::Status reload();

  // As of the functions of Trainer; REQUIRES: between runs.
  absl::StatusOr<CheckpointInfo> save_between_runs();
  absl::StatusOr<std::optional<CheckpointInfo>> resume(std::vector<std::string>* notes);
  absl::StatusOr<CheckpointInfo> resume_from(const std::string& path,
                                             std::vector<std::string>* notes);
  absl::Status load_model_bank(std::vector<std::string>* notes);
  absl::StatusOr<std::vector<std::string>> load_left_out(
      const std::vector<std::string>& names, const TrainerState::ReferredFiles& began_with);

 private:
  // What asked for the save of a step.
  struct Asked {
    RequestSet requests;
    Scope scope = Scope::kCommon;
    std::string detail;
  };

  Collectives& ranks() const { return parts_.agreement.collectives(); }
  absl::Status begin_and_finish(const TrainState& state, Asked asked);
  absl::Status report_durable(absl::StatusOr<std::vector<CheckpointInfo>> durable);
  absl::Status finish_after_failure(bool together);
  absl::Status apply(FoundCheckpoint found, std::vector<std::string>* notes);

  const Parts parts_;
  const CheckpointKeeperOptions options_;
  int64_t steps_begun_ = 0;
  bool save_failed_ = false;
  int64_t begun_step_ = -1;              // steps done at the newest save of this run that began
  int64_t durable_step_ = -1;            // and at the newest that is durable
  std::multimap<int64_t, Asked> asked_;  // step → what asked for its saves, until they are durable
  std::string newest_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_CHECKPOINT_KEEPER_H_
