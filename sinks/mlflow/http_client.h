// A client of an HTTP server.
#ifndef MILLRACE_SINKS_MLFLOW_HTTP_CLIENT_H_
#define MILLRACE_SINKS_MLFLOW_HTTP_CLIENT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/net/http_url.h"
#include "sinks/mlflow/http_response.h"

namespace millrace {

struct HttpRequest {
  const char* method = "GET";
  std::string target;  // below the path of the server, with a slash at the front
  std::string body;    // JSON; "": none
};

struct HttpClientOptions {
  // For a whole request: the address of the name, the connection, the request and the response.
  absl::Duration timeout = absl::Seconds(10);
  size_t most_response_bytes = 16 << 20;  // of the body
};

// Sends requests to one server, each over a new connection, without TLS and without the
// proxy of the environment. Safe for concurrent use.
class HttpClient {
 public:
  HttpClient(HttpUrl server, HttpClientOptions options);

  // Returns the response, also one with an error status. Takes at most `options.timeout`, or
  // `limit` if that is shorter. Errors, with the address of the server: DeadlineExceeded;
  // Unavailable if the server cannot be reached, closes the connection early or does not send HTTP.
  absl::StatusOr<HttpResponse> send(const HttpRequest& request,
                                    absl::Duration limit = absl::InfiniteDuration()) const;

 private:
  const HttpUrl server_;
  const HttpClientOptions options_;
  const std::string address_;  // HOST:PORT
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_HTTP_CLIENT_H_
