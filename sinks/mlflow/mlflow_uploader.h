// Sends the rows of reports to a run of a tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "framework/report/report_rows.h"
#include "framework/report/sink.h"
#include "sinks/mlflow/mlflow_api.h"
#include "sinks/mlflow/mlflow_names.h"
#include "sinks/mlflow/row_follower.h"
#include "sinks/mlflow/run_state.h"
#include "sinks/mlflow/step_times.h"

namespace millrace {

// Name of the file of MlflowRunState in MlflowUploaderOptions::directory.
inline constexpr char kMlflowRunFile[] = "run.json";

struct MlflowUploaderOptions {
  std::string run_name;
  std::string directory;       // of run.json and times
  std::string rows_directory;  // of train.jsonl and eval.jsonl
  MlflowParams params;         // at most kMostMlflowParams
  MlflowRunState state;        // of run.json
  // Of the run that writes rows; none: all rows are of earlier runs.
  std::optional<SinkStart> start = std::nullopt;
  // If true, the run of the server has the rows without a time, which are those of version 0.1.0.
  bool rows_without_time_were_sent = false;
};

// Creates a run, or resumes the run of the state, and logs the rows that RowFollower reads: a
// metric for each number, mlflow_name() of "train/NAME" for numbers of training and of "SET/NAME"
// for numbers of an evaluation set. Refused rows are dropped with a warning, so that later rows are
// not blocked. A run deleted on the server is replaced by a new run with all rows, once. Used by
// one thread.
class MlflowUploader {
 public:
  // Borrows `files` and `clock`. Called before the first row of the run.
  MlflowUploader(FileSystem& files, Clock& clock, MlflowApi api, MlflowUploaderOptions options);

  // Opens the run if it is not open, or sends rows. Returns false if all rows were sent. Errors: as
  // MlflowApi and FileSystem; the call may be repeated later.
  absl::StatusOr<bool> upload();
  // Sets the status FINISHED unless the run has it, also of a run that a killed process left.
  // Does nothing if there is no run. Errors: as MlflowApi and FileSystem.
  absl::Status finish();

 private:
  absl::Status open_run();
  absl::Status create_run();
  absl::Status log_params();
  absl::Status save_state();
  absl::Status send(const std::vector<ReportRow>& rows);
  // Notes that the rows need no more sending.
  absl::Status confirm(const RowFollower::Batch& batch);
  // Decides after the server refused a batch. Returns: true to continue.
  absl::StatusOr<bool> handle_refusal(const RowFollower::Batch& batch, const absl::Status& refusal);
  // Forgets a run that no longer exists on the server. Errors: `cause`, at the second call.
  absl::Status forget_run(const absl::Status& cause);
  int64_t now_ms() const;

  FileSystem& files_;
  Clock& clock_;
  MlflowApi api_;
  const MlflowUploaderOptions options_;
  MlflowRunState state_;
  RowFollower rows_;
  StepTimes times_;
  MlflowNames names_;
  bool open_ = false;       // true once the server confirmed the run
  bool forgotten_ = false;  // true after forget_run()
  // Number of rows to be sent one by one, to find the refused rows.
  size_t one_by_one_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_
