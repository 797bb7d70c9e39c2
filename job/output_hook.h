// The output directory of a run.
#ifndef MILLRACE_JOB_OUTPUT_HOOK_H_
#define MILLRACE_JOB_OUTPUT_HOOK_H_

#include <string>

#include "base/file_system.h"
#include "framework/report/jsonl_event_log.h"
#include "hook/hook.h"
#include "job/health/rank_activity.h"
#include "job/health/status_file.h"
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
// check_output_directory. Passes the progress of training to a RankActivity.
class OutputHook : public Hook {
 public:
  // Borrows all but `config`. `events` is opened, and on rank 0 `status` is started, when the
  // directory exists. Null: none.
  OutputHook(FileSystem& files, JobConfig config, JsonlEventLog* events = nullptr,
             RankActivity* activity = nullptr, StatusFile* status = nullptr)
      : files_(files),
        config_(std::move(config)),
        events_(events),
        activity_(activity),
        status_(status) {}
  absl::string_view name() const override { return "output"; }
  absl::Status start(HookContext& context) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;

 private:
  void note_progress(const HookContext& context);
  absl::Status make(const HookContext& context);
  absl::Status write_config() const;

  FileSystem& files_;
  const JobConfig config_;
  JsonlEventLog* const events_;
  RankActivity* const activity_;
  StatusFile* const status_;
  bool made_ = false;
  std::string saved_;        // path of the last checkpoint of this run
  bool log_failed_ = false;  // true if reopening failed at the last checkpoint
};

}  // namespace millrace

#endif  // MILLRACE_JOB_OUTPUT_HOOK_H_
