// The times at which steps were reported.
#ifndef MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_
#define MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

// Remembers the time of each reported step in a file, a line of "STEP MILLISECONDS" for each. A
// resumed run reports the steps after its checkpoint again and may repeat the evaluation at the
// checkpoint. MLflow stores equal metric, step and time once, so a repeated value must have the
// time of the first report. Not thread-safe.
class StepTimes {
 public:
  static constexpr size_t kMostSteps = 20000;  // that the file keeps when a run starts

  // Borrows `files`.
  StepTimes(FileSystem& files, std::string path);

  // Reads the times of `first_step` and of later steps. Errors: see FileSystem.
  absl::Status start(int64_t first_step);
  // Returns the time of a step, in milliseconds since 1970: the time of the first report, or
  // `now_ms` without an earlier report. Errors: see WritableFile.
  absl::StatusOr<int64_t> time_of(int64_t step, int64_t now_ms);
  // Makes the times durable. If somebody removed the file, the next time begins another one.
  absl::Status sync();

 private:
  FileSystem& files_;
  const std::string path_;
  std::map<int64_t, int64_t> earlier_;  // step → time, of steps that come again
  int64_t last_step_ = -1, last_time_ms_ = 0;
  std::unique_ptr<WritableFile> file_;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_
