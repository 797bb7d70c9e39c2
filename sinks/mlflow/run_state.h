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

// Evaluation set, or SinkStart::kTrain → the last step whose row the server has confirmed.
using SentSteps = std::map<std::string, int64_t>;

// The state in a file by which a resumed run continues the same run of the server.
struct MlflowRunState {
  std::string tracking_uri, experiment;  // of the configuration
  std::string tag;                       // random; finds the run on the server
  std::string run_id;                    // "": the server has not created the run yet
  std::string experiment_id;             // "": likewise
  int64_t start_ms = 0;                  // since 1970
  bool params_logged = false;            // if true, the server has the parameters
  SentSteps sent = {};

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
