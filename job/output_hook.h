// The output directory of a run.
#ifndef MILLRACE_JOB_OUTPUT_HOOK_H_
#define MILLRACE_JOB_OUTPUT_HOOK_H_

#include <string>

#include "base/file_system.h"
#include "framework/report/jsonl_event_log.h"
#include "hook/hook.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that a run can write to the output directory and the directories of sinks. Writes nothing.
// Errors: PermissionDenied with the obstacle.
absl::Status check_output_directory(FileSystem& files, const RunConfig& run);

// Sends log lines of this rank, past lines included, also to OUTPUT_DIR/logs/rank-N.log. Appends to
// the log of earlier runs. If the file was removed, another call starts a new file. REQUIRES: the
// directory belongs to this run. Errors: PermissionDenied; errors of creating the directory.
absl::Status open_run_log(FileSystem& files, const RunConfig& run, int rank);

// Creates the output directory just before the first step, or at the first checkpoint of a run
// without a step, so that a run that fails earlier leaves nothing. Each rank writes
// logs/rank-N.log; rank 0 also writes config.textproto and events.jsonl. Logs every checkpoint, and
// notifies the launcher of it (distributed/environment/checkpoint_notice.h).
// After a checkpoint each rank recreates its files that were removed together with the directory,
// since the checkpoint recreates the directory. `start` refuses the same directories as
// check_output_directory.
class OutputHook : public Hook {
 public:
  // Borrows `files` and `events`, which is opened when the directory exists. Null: no event log.
  OutputHook(FileSystem& files, JobConfig config, JsonlEventLog* events = nullptr)
      : files_(files), config_(std::move(config)), events_(events) {}
  absl::string_view name() const override { return "output"; }
  absl::Status start(HookContext& context) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;

 private:
  absl::Status make(const HookContext& context);
  absl::Status write_config() const;

  FileSystem& files_;
  const JobConfig config_;
  JsonlEventLog* const events_;
  bool made_ = false;
  std::string saved_;        // path of the last checkpoint of this run
  bool log_failed_ = false;  // true if reopening failed at the last checkpoint
};

}  // namespace millrace

#endif  // MILLRACE_JOB_OUTPUT_HOOK_H_
