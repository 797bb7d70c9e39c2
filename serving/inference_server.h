// A server of predictions over HTTP.
#ifndef MILLRACE_SERVING_INFERENCE_SERVER_H_
#define MILLRACE_SERVING_INFERENCE_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/follower.h"
#include "serving/predictor.h"

namespace millrace {

struct InferenceServerOptions {
  std::string model = "model";                        // the name in URLs
  std::string address = "127.0.0.1";                  // IPv4 or IPv6
  int port = 8000;                                    // 0: any free one
  int threads = 1;                                    // that handle requests
  size_t most_body_bytes = 16 << 20;                  // of a request
  absl::Duration client_timeout = absl::Seconds(60);  // to send a request, or between two of them
};

// Serves a predictor by the Open Inference Protocol, version 2, over REST, without TLS and login:
//
//   GET  /v2, /v2/health/live, /v2/health/ready
//   GET  /v2/models/NAME, /v2/models/NAME/ready
//   POST /v2/models/NAME/infer          see serving/inference_request.h
//   GET  /metrics                       in the format of Prometheus
//
// A URL may name the step of the served version (/v2/models/NAME/versions/STEP/...). Errors are
// {"error": "..."} with 400 for a request that is wrong, 404 for another model or version, 413 for
// a large one (a line of text), 503 after drain() or while 256 requests wait.
class InferenceServer {
 public:
  // Borrows `predictor`. `counts`: of what follows the folder; null: nothing does. Errors: as
  // HttpServer::start().
  static absl::StatusOr<std::unique_ptr<InferenceServer>> start(
      const InferenceServerOptions& options, Predictor& predictor,
      std::function<FollowerCounts()> counts = nullptr);
  ~InferenceServer();
  InferenceServer(const InferenceServer&) = delete;
  InferenceServer& operator=(const InferenceServer&) = delete;

  int port() const;
  // Answers further requests with 503 and reports that it is not ready. Returns when no request is
  // computed, or after `limit`.
  void drain(absl::Duration limit);

 private:
  class Impl;
  explicit InferenceServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

#endif  // MILLRACE_SERVING_INFERENCE_SERVER_H_
