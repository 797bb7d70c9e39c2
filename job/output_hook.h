// The output directory of a run.
#ifndef MILLRACE_JOB_OUTPUT_HOOK_H_
#define MILLRACE_JOB_OUTPUT_HOOK_H_

#include <string>

#include "base/file_system.h"
#include "framework/hook.h"
#include "framework/report/jsonl_event_log.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that a run may write to its output directory and to those of its sinks. Writes nothing.
// Errors: PermissionDenied, saying what is in the way.
absl::Status check_output_directory(FileSystem& files, const RunConfig& run);

// From now on what this rank logs, and what it logged so far, also goes to
// OUTPUT_DIR/logs/rank-N.log, behind what earlier runs left there. Called again, begins a new file
// if that one was removed. For directories that are known to be this run's. Errors:
// PermissionDenied; those of making the directory.
absl::Status open_run_log(FileSystem& files, const RunConfig& run, int rank);

// Makes the output directory just before the first step, so that a run that fails earlier leaves
// nothing. Each rank puts its logs/rank-N.log there; rank 0 config.textproto and events.jsonl
// too. Logs every checkpoint, and with it makes again, on each rank, which of these files were
// removed: the directory is there again with the checkpoint. `start` refuses what
// check_output_directory does.
class OutputHook : public Hook {
 public:
  // Borrows `files` and `events`, which is opened when the directory is there; null: none.
  OutputHook(FileSystem& files, JobConfig config, JsonlEventLog* events = nullptr)
      : files_(files), config_(std::move(config)), events_(events) {}
  absl::string_view name() const override { return "output"; }
  absl::Status start(HookContext& context) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;

 private:
  absl::Status write_config() const;

  FileSystem& files_;
  const JobConfig config_;
  JsonlEventLog* const events_;
  bool made_ = false;
  bool log_failed_ = false;  // to open again at the last checkpoint
};

}  // namespace millrace

#endif  // MILLRACE_JOB_OUTPUT_HOOK_H_
