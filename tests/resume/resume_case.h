// Training that is captured at every serving point and goes on elsewhere.
#ifndef MILLRACE_TESTS_RESUME_RESUME_CASE_H_
#define MILLRACE_TESTS_RESUME_RESUME_CASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/state/train_state.h"
#include "framework/loop/best_score.h"
#include "hook/cadence.h"
#include "hook/hook.h"
#include "proto/hook_configs.pb.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {

// A job. Each forward pass takes a second of a clock that otherwise stands still.
struct ResumeCase {
  TinyTrainerOptions options;
  std::vector<FakeWindow> windows;  // instead of epochs
  Cadence evict;                    // of the hook evict_rows; never: there is none
  Cadence evaluate;
  std::optional<EarlyStoppingConfig> early_stopping;
  BestScoreOptions best;
  // With kThisRank, a checkpoint that an event asks for is made after the exchange that follows.
  Scope scope = Scope::kCommon;
  bool files = false;  // checkpoints go through the files of a Saver, in memory
  // They are begun, and written at the next serving point, when steps have been made.
  bool asynchronous = false;
  // Called at each event of a further hook, last; for what else a case does.
  std::function<absl::Status(HookContext&, absl::string_view event)> on_event;
};

// What one run came to.
struct ResumeRun {
  Progress progress;
  int64_t evicted = 0;           // rows, over all resumes
  std::string end;               // the state after it
  std::vector<std::string> log;  // reports and evaluations, without the memory of tables
};

// A state on the way, and how much of the log had been written.
struct ResumePoint {
  std::string where;  // for messages
  std::function<absl::StatusOr<LoadedState>(const TrainState& target)> load;
  size_t logged;
  std::vector<FakeWindow> windows;  // as they had come by then
};

// Trains from the beginning. `points`, if given, gets the state at every serving point that
// follows a hook's event; a run without it makes no checkpoint.
absl::StatusOr<ResumeRun> run_whole(const ResumeCase& resume_case,
                                    std::vector<ResumePoint>* points);

// Trains from the beginning until one rank asks to stop, at an event of a hook: from 1, those of
// evaluations too. `points` gets what is saved then. Where there are fewer events, the run is whole
// and its state that of the end.
absl::StatusOr<ResumeRun> run_stopped(const ResumeCase& resume_case, int64_t event,
                                      std::vector<ResumePoint>* points);

// Trains a new trainer from a point on.
absl::StatusOr<ResumeRun> run_from(const ResumeCase& resume_case, const ResumePoint& point);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RESUME_RESUME_CASE_H_
