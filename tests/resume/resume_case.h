// Training whose state is captured at every serving point and resumed in another trainer.
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

// A job. Only forward passes advance the clock, by a second each.
struct ResumeCase {
  TinyTrainerOptions options;
  std::vector<FakeWindow> windows;  // instead of epochs
  bool windows_restart = false;     // in each epoch
  Cadence evict;                    // of the hook evict_rows; never: no hook
  Cadence evaluate;
  std::optional<EarlyStoppingConfig> early_stopping;
  BestScoreOptions best;
  // If kThisRank, a checkpoint that an event requests is made after the next exchange.
  Scope scope = Scope::kCommon;
  bool files = false;   // checkpoints go through the files of a Saver, in memory
  bool bucket = false;  // these files are in an object store
  // If true, saves are begun, and written at the next serving point, after further steps.
  bool asynchronous = false;
  // Called at each event of a further hook, last, for other actions of a case.
  std::function<absl::Status(HookContext&, absl::string_view event)> on_event;
};

// The outcome of a run.
struct ResumeRun {
  Progress progress;
  int64_t evicted = 0;           // rows, over all resumes
  std::string end;               // the state at the end
  std::vector<std::string> log;  // reports and evaluations, without the memory of tables
};

// A state during a run, and the length of the log by then.
struct ResumePoint {
  std::string where;  // for messages
  std::function<absl::StatusOr<LoadedState>(const TrainState& target)> load;
  size_t logged;
  std::vector<FakeWindow> windows;  // as they had arrived by then
};

// Trains from the beginning. `points`, if not null, gets the state at every serving point that
// follows a hook's event; a run without it makes no checkpoint.
absl::StatusOr<ResumeRun> run_whole(const ResumeCase& resume_case,
                                    std::vector<ResumePoint>* points);

// Trains from the beginning until one rank requests a stop at event `event` of a hook, from 1;
// events of evaluations count, too. `points` gets the states that are saved then. If there are
// fewer events, the run is whole, and its state is the final state.
absl::StatusOr<ResumeRun> run_stopped(const ResumeCase& resume_case, int64_t event,
                                      std::vector<ResumePoint>* points);

// Trains a new trainer from a point on.
absl::StatusOr<ResumeRun> run_from(const ResumeCase& resume_case, const ResumePoint& point);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RESUME_RESUME_CASE_H_
