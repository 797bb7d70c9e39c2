// A connection of a small HTTP server.
#ifndef MILLRACE_SINKS_PROMETHEUS_HTTP_CONNECTION_H_
#define MILLRACE_SINKS_PROMETHEUS_HTTP_CONNECTION_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "base/net/socket.h"

namespace millrace {

// Reads one request, sends the answer, and discards all further input until the client closes.
// Never waits: advance() only reads and writes as far as the socket is ready. Not thread-safe.
class HttpConnection {
 public:
  static constexpr size_t kMostRequestBytes = 8192;
  static constexpr char kEndOfHead[] = "\r\n\r\n";
  // Returns the whole answer to a request. `head`: the request up to at least the first kEndOfHead;
  // without kEndOfHead if the request is longer than kMostRequestBytes.
  using Answer = std::function<std::string(const std::string& head)>;

  // `socket` does not block. The owner closes the connection after `deadline`.
  HttpConnection(Socket socket, const Deadline& deadline)
      : socket_(std::move(socket)), deadline_(deadline) {}

  int descriptor() const { return socket_.get(); }
  const Deadline& deadline() const { return deadline_; }
  // Returns what to poll the socket for.
  short events() const;
  // Call when the socket is ready. Calls `answer` when the request is complete. Returns false when
  // the connection is over, also after an error of the socket.
  bool advance(const Answer& answer);

 private:
  enum class Phase { kRequest, kAnswer, kRest };

  bool read_request(const Answer& answer);
  bool send_answer();
  bool discard();

  Socket socket_;
  Deadline deadline_;
  Phase phase_ = Phase::kRequest;
  std::string head_;
  std::string answer_;
  size_t sent_ = 0;  // bytes of the answer
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_HTTP_CONNECTION_H_
