// A small HTTP server for one page.
#ifndef MILLRACE_SINKS_PROMETHEUS_HTTP_ENDPOINT_H_
#define MILLRACE_SINKS_PROMETHEUS_HTTP_ENDPOINT_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/net/socket.h"
#include "sinks/prometheus/http_connection.h"

namespace millrace {

struct HttpEndpointOptions {
  std::string address = "127.0.0.1";  // IPv4
  int port = 0;                       // 0: any free one
  std::string path = "/metrics";
  std::string content_type = "text/plain; version=0.0.4; charset=utf-8";
  // Time-out of a client for sending the request and for taking the answer. A slower client is
  // disconnected.
  absl::Duration client_timeout = absl::Seconds(2);
  const Clock* clock = &Clock::real();  // lives longer than the endpoint
};

// Serves one page over HTTP/1.1 until the object is destroyed. A background thread answers one
// request of each connection and closes it: 200 for GET and HEAD of the path, 404 for other paths,
// 405 for other methods, 400 for an invalid request, and 431 for a request of more than 8 KiB. A
// silent connection does not delay others. Of more than 64 connections the oldest is closed.
class HttpEndpoint {
 public:
  // `page` returns the text of the page; the thread of the endpoint calls it. Errors: Unavailable,
  // naming address and port, if the port is taken or this machine does not have the address;
  // InvalidArgument if the address is not an IPv4 address or the port is above 65535.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> start(HttpEndpointOptions options,
                                                             std::function<std::string()> page);
  // Ends the thread. A client that is being answered may get a part of the answer.
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  int port() const { return port_; }

 private:
  HttpEndpoint(HttpEndpointOptions options, std::function<std::string()> page, Socket listener,
               int port, Socket waker_read, Socket waker_write);
  void serve();
  void accept();
  // Returns the whole answer to a request (HttpConnection::Answer).
  std::string answer(const std::string& head) const;

  const HttpEndpointOptions options_;
  const std::function<std::string()> page_;
  const Socket listener_;
  const int port_;
  const Socket waker_read_, waker_write_;   // a pipe; a byte in it ends the thread
  std::deque<HttpConnection> connections_;  // of the thread; the oldest first
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_HTTP_ENDPOINT_H_
