// The REST API of an MLflow tracking server.
#ifndef MILLRACE_SINKS_MLFLOW_MLFLOW_API_H_
#define MILLRACE_SINKS_MLFLOW_MLFLOW_API_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/http/http_client.h"

namespace millrace {

struct MlflowMetric {
  std::string key;  // as mlflow_name() returns it
  double value = 0;
  int64_t time_ms = 0;  // since 1970
  int64_t step = 0;
};

// Name → text.
using MlflowParams = std::vector<std::pair<std::string, std::string>>;

// The values of a new run.
struct MlflowNewRun {
  std::string experiment_id;
  std::string name;
  std::string tag;  // the value of the tag kMlflowRunTag
  int64_t start_ms = 0;
};

// Returns the options of a client of a tracking server, with the credentials and the trust of the
// environment under the names of MLflow's own client: MLFLOW_TRACKING_USERNAME and
// MLFLOW_TRACKING_PASSWORD, else MLFLOW_TRACKING_TOKEN; MLFLOW_TRACKING_SERVER_CERT_PATH, else
// MLFLOW_TRACKING_INSECURE_TLS. Warns if an attacker on the way to `server` may read the
// credentials, or the reports in spite of TLS.
HttpClientOptions mlflow_client_options(const HttpUrl& server, absl::Duration timeout);

// The tag by which a run is found again.
inline constexpr char kMlflowRunTag[] = "millrace.run";

// Limits of one log-batch request. With names of at most 250 bytes and texts of at most 500
// characters, such a request is smaller than the limit of 1 MB.
inline constexpr size_t kMostMlflowMetrics = 1000;
inline constexpr size_t kMostMlflowParams = 100;

// Calls version 2.0 of the API. Errors of all functions:
//   NotFound           the server has no such experiment or run
//   InvalidArgument    the server refuses the values; the same request will be refused again
//   FailedPrecondition    HttpClient cannot use the environment
//   DeadlineExceeded, Unavailable    anything else, such as an unreachable server
// Safe for concurrent use.
class MlflowApi {
 public:
  // Borrows `client`. `limit`: called before each request, which takes at most this time; null: the
  // timeout of the client alone.
  explicit MlflowApi(const HttpClient& client, std::function<absl::Duration()> limit = nullptr)
      : client_(client), limit_(std::move(limit)) {}

  // Returns the id of an experiment; creates a missing experiment. Errors: FailedPrecondition if
  // the experiment is deleted.
  absl::StatusOr<std::string> find_or_create_experiment(const std::string& name);
  // Returns the id of the run with the tag; creates a missing run. A repeated call after a lost
  // response finds the run of the first call.
  absl::StatusOr<std::string> find_or_create_run(const MlflowNewRun& run);
  // Sets status RUNNING.
  absl::Status resume_run(const std::string& run_id);
  // Sets status FINISHED.
  absl::Status finish_run(const std::string& run_id, int64_t end_ms);
  // Returns false if the run was deleted. Errors: NotFound if the server forgot the run.
  absl::StatusOr<bool> is_active(const std::string& run_id);
  // Logs at most kMostMlflowMetrics. A repeated request changes nothing on a server with a
  // database, which stores equal metrics of one step and time once.
  absl::Status log_metrics(const std::string& run_id, absl::Span<const MlflowMetric> metrics);
  // Logs at most kMostMlflowParams. InvalidArgument if the run has another value.
  absl::Status log_params(const std::string& run_id, const MlflowParams& params);

 private:
  // Sends a request and returns the JSON object of the response.
  absl::StatusOr<nlohmann::json> call(const char* method, const std::string& target,
                                      const std::string& body);
  absl::StatusOr<nlohmann::json> post(const std::string& target, const nlohmann::json& body);
  // Returns the text at a path of the response to `target`. Errors: Unavailable.
  static absl::StatusOr<std::string> text_at(const nlohmann::json& response, const char* pointer,
                                             const std::string& target);

  const HttpClient& client_;
  const std::function<absl::Duration()> limit_;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_MLFLOW_API_H_
