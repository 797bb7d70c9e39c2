// The command `train` in a process that continues afterwards.
#ifndef MILLRACE_TOOLS_TRAIN_RUN_H_
#define MILLRACE_TOOLS_TRAIN_RUN_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/rank_environment.h"
#include "framework/trainer.h"
#include "tools/config_flags.h"

namespace millrace {

// Parts that a program adds to a run.
struct TrainAdditions {
  // Adds hooks to the trainer, before a checkpoint is resumed; null: none. An error ends the run on
  // all ranks.
  std::function<absl::Status(Trainer&, const RankEnvironment&)> add_hooks = nullptr;
};

struct TrainOutcome {
  std::string summary;  // see summary_json() in tools/output/run_summary.h
  int exit_code = 0;    // of a program that ends now: 0, or 75 after a stop by a signal
};

// Trains as the command `train` with these flags does, with its output, files, ranks and resume.
// Unlike the command, it handles signals only while batches are trained (SignalStopHook), and a
// failure among several ranks does not end the process. Data that hangs does: see end_process() in
// tools/command_end.h. The first call of a process must follow initialize_logging(). One run at a
// time. Errors: as the command reports them.
absl::StatusOr<TrainOutcome> run_training(const ConfigFlags& flags,
                                          const TrainAdditions& additions);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_TRAIN_RUN_H_
