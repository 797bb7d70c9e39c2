// An HTTP server for tests, which may break every rule.
#ifndef MILLRACE_SINKS_MLFLOW_HTTP_SERVER_TESTING_H_
#define MILLRACE_SINKS_MLFLOW_HTTP_SERVER_TESTING_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/net/http_url.h"

namespace millrace {

struct TestRequest {
  std::string method, target, head, body;
};

struct TestResponse {
  std::string bytes;   // everything that is sent, with the status line
  bool hangs = false;  // if true, the connection stays open until the server is destroyed
};

// Returns a response with a Content-Length.
TestResponse http_response(int status, const std::string& body);

// Listens on a free port of 127.0.0.1, and answers one request after the other in a thread.
class TestHttpServer {
 public:
  using Handler = std::function<TestResponse(const TestRequest&)>;

  explicit TestHttpServer(Handler handler);
  // Ends the thread and closes all connections.
  ~TestHttpServer();

  HttpUrl url() const { return {.host = "127.0.0.1", .port = port_, .path = ""}; }
  std::string uri() const;

 private:
  void serve();
  // Returns false if the connection must stay open.
  bool serve_client(int client) const;

  const Handler handler_;
  int listener_ = -1, port_ = 0;
  int waker_[2] = {-1, -1};   // a pipe; a byte in it ends the thread
  std::vector<int> hanging_;  // connections that stay open
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_HTTP_SERVER_TESTING_H_
