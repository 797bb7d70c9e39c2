// A small HTTP server.
#ifndef MILLRACE_BASE_HTTP_HTTP_SERVER_H_
#define MILLRACE_BASE_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace millrace {

struct HttpServerRequest {
  std::string method, target, body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool at_once = false;  // HttpServerOptions::handled_at_once chose the request

  // Returns the value of the first field of a name, in any case of letters; "" if there is none.
  absl::string_view header(absl::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string body = "";  // not sent in reply to HEAD
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones
};

// Returns a reply whose body is the status and its name: "404 Not Found\n".
HttpReply http_error_reply(int status);

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6; "::": all addresses of both
  int port = 0;                       // 0: any free one
  // Time-out of a client for sending a request and for taking the reply. A slower client is
  // disconnected.
  absl::Duration client_timeout = absl::Seconds(2);
  size_t most_body_bytes = 1 << 20;  // of a request
  size_t most_connections = 64;
  // Threads that call the handler. 0: the thread of the server, one request after the other.
  int handler_threads = 0;
  // Returns true for a request that the thread of the server handles all the same, at once.
  // Default: none.
  std::function<bool(const HttpServerRequest&)> handled_at_once = nullptr;
  // If true, a client may send several requests over one connection, which is closed after
  // `client_timeout` without a request.
  bool keep_alive = false;
  // A chain of certificates and its key, both PEM. Default: without TLS.
  std::string certificate = "", key = "";
};

// Serves HTTP/1.1 until the object is destroyed, by default one request for each connection. A
// background thread reads requests and calls the handler; it replies itself with 400 to an invalid
// request, with 431 to a request whose header exceeds 8 KiB, with 413 to a larger body than allowed
// and with 500 if the handler throws. A silent connection does not delay others; a slow handler
// does, without threads of its own. Of more than `most_connections` connections the oldest is
// closed.
class HttpServer {
 public:
  // Returns the reply to a request. The thread of the server calls it, or one of `handler_threads`.
  using Handler = std::function<HttpReply(const HttpServerRequest&)>;

  // Errors: Unavailable, naming address and port, if the port is taken or this machine does not
  // have the address; InvalidArgument for an address, a port or a certificate that is none.
  static absl::StatusOr<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                           Handler handler);
  // Ends the threads, after the handlers that run. A client that is being answered may get a part
  // of the reply.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  // Accepts no more connections, and closes each after its next reply. Returns when each request
  // that was read has its reply, or after `limit`.
  void drain(absl::Duration limit);

 private:
  class Impl;

  explicit HttpServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_HTTP_HTTP_SERVER_H_
