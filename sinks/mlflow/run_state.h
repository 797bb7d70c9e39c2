// The run of a tracking server that an output directory belongs to.
#ifndef MILLRACE_SINKS_MLFLOW_RUN_STATE_H_
#define MILLRACE_SINKS_MLFLOW_RUN_STATE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"

namespace millrace {

// The place and the content of a row in a file. Default: before the first row.
struct RowPlace {
  int64_t begin = 0, end = 0;  // in bytes; `end` is behind the line feed
  uint32_t checksum = 0;       // crc32c() of the line

  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

// Name of a file of rows → the last row that needs no more sending.
using SentRows = std::map<std::string, RowPlace>;

// The state in a file by which later runs continue the same run of the server. Its rows are sent at
// least once:
//   after a kill             the next run sends the rows behind `sent`
//   a resumed run, also of   RowFollower moves `sent` in front of the rows that the run replaces
//   the same process
//   another file of rows     lacks the row at that place, so that all of its rows are sent
struct MlflowRunState {
  std::string tracking_uri, experiment;  // of the configuration
  std::string tag;                       // random; finds the run on the server
  std::string run_id;                    // "": the server has not created the run yet
  std::string experiment_id;             // "": likewise
  int64_t start_ms = 0;                  // since 1970
  bool params_logged = false;            // if true, the server has the parameters
  SentRows sent = {};
  bool own_rows = false;  // if true, the sink writes the files of `sent`
  bool finished = false;  // if true, the server has the status FINISHED and all rows

  friend bool operator==(const MlflowRunState&, const MlflowRunState&) = default;
};

// Returns the state of a file. A missing or malformed file, or a file of another server or
// experiment, gives the state of a new run with the start `now_ms`. Errors: Unavailable if the file
// cannot be read.
absl::StatusOr<MlflowRunState> load_run_state(FileSystem& files, const std::string& path,
                                              const std::string& tracking_uri,
                                              const std::string& experiment, int64_t now_ms);

// Replaces the file, which is durable afterwards. Creates its directory if missing. Errors: see
// FileSystem.
absl::Status save_run_state(FileSystem& files, const std::string& path,
                            const MlflowRunState& state);

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_RUN_STATE_H_
