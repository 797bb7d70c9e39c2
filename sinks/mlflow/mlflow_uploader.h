// Sends a queue of records to a run of a tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "sinks/mlflow/mlflow_api.h"
#include "sinks/mlflow/record_queue.h"
#include "sinks/mlflow/run_state.h"

namespace millrace {

struct MlflowUploaderOptions {
  std::string tracking_uri;  // for the log, and to notice another server
  std::string experiment;
  std::string run_name;
  std::string state_path;  // of the file of MlflowRunState
  MlflowParams params;     // at most kMostMlflowParams
};

// Creates a run, or resumes the run of the file, and logs the records (metric_record.h) of a queue.
// Refused records are dropped with a warning, so that later records are not blocked. A run deleted
// on the server is replaced by a new run, once. Used by one thread.
class MlflowUploader {
 public:
  // Borrows `files`, `clock` and `queue`.
  MlflowUploader(FileSystem& files, Clock& clock, RecordQueue& queue, MlflowApi api,
                 MlflowUploaderOptions options);

  // Opens the run, unless it is open, and sends records from the front of the queue. Returns false
  // if the queue is empty. Errors: as MlflowApi and FileSystem; the call may be repeated later.
  absl::StatusOr<bool> upload();
  // Sets the status FINISHED. Does nothing if the run is not open. Errors: as MlflowApi.
  absl::Status finish();

 private:
  absl::Status open_run();
  absl::Status create_run();
  absl::Status restore_state();
  absl::Status log_params();
  absl::Status save_state();
  absl::Status send(const RecordQueue::Batch& batch);
  // Decides after the server refused a batch. Returns: true to continue.
  absl::StatusOr<bool> handle_refusal(const RecordQueue::Batch& batch, const absl::Status& refusal);
  // Forgets a run that no longer exists on the server. Errors: `cause`, at the second call.
  absl::Status forget_run(const absl::Status& cause);
  int64_t now_ms() const;

  FileSystem& files_;
  Clock& clock_;
  RecordQueue& queue_;
  MlflowApi api_;
  const MlflowUploaderOptions options_;
  std::optional<MlflowRunState> state_;
  bool open_ = false;       // true once the server confirmed the run
  bool forgotten_ = false;  // true after forget_run()
  // Number of records to be sent one by one, to find the refused records.
  size_t one_by_one_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_UPLOADER_H_
