// The times under which the values of steps are sent.
#ifndef MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_
#define MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// Remembers the time of each step of which values were sent in a file, a line of "STEP
// MILLISECONDS" for each. A resumed run reports the steps after its checkpoint again and may repeat
// the evaluation at the checkpoint. MLflow stores equal metric, step and time once, so a repeated
// value must have the time of the first report. Not thread-safe.
class StepTimes {
 public:
  static constexpr size_t kMostSteps = 20000;  // that are remembered: the last ones

  // Borrows `files`.
  StepTimes(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Reads the file, if there is one. Errors: see FileSystem.
  absl::Status load();
  // Returns the time of a step, in milliseconds since 1970: the remembered time, or `time_ms`,
  // which is remembered.
  int64_t time_of(int64_t step, int64_t time_ms);
  // Makes the times durable, in a new file if the file was removed. Called before the values are
  // sent. Errors: see WritableFile; the next call writes the whole file.
  absl::Status save();

 private:
  void remember(int64_t step, int64_t time_ms);
  absl::Status rewrite();

  FileSystem& files_;
  const std::string path_;
  std::map<int64_t, int64_t> times_;  // step → time
  std::string unsaved_;               // lines
  bool torn_ = false;                 // if true, the file may end with a part of a line
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_STEP_TIMES_H_
