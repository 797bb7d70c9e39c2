#include "sinks/prometheus/http_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace millrace {
namespace {

// Returns true if the call that failed may be repeated when the socket is ready.
bool not_ready() { return errno == EINTR || errno == EAGAIN; }

}  // namespace

short HttpConnection::events() const { return phase_ == Phase::kAnswer ? POLLOUT : POLLIN; }

bool HttpConnection::advance(const Answer& answer) {
  switch (phase_) {
    case Phase::kRequest: return read_request(answer);
    case Phase::kAnswer: return send_answer();
    case Phase::kRest: return discard();
  }
  return false;
}

bool HttpConnection::read_request(const Answer& answer) {
  char buffer[1024];
  const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
  if (count < 0) return not_ready();
  if (count == 0) return false;
  head_.append(buffer, static_cast<size_t>(count));
  if (head_.find(kEndOfHead) == head_.npos && head_.size() <= kMostRequestBytes) return true;
  answer_ = answer(head_);
  phase_ = Phase::kAnswer;
  return send_answer();
}

bool HttpConnection::send_answer() {
  const ssize_t count =
      ::send(socket_.get(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
  if (count < 0) return not_ready();
  sent_ += static_cast<size_t>(count);
  if (sent_ < answer_.size()) return true;
  // Closing with unread bytes would reset the connection, and the client lose the answer.
  ::shutdown(socket_.get(), SHUT_WR);
  phase_ = Phase::kRest;
  return true;
}

bool HttpConnection::discard() {
  char rest[1024];
  const ssize_t count = ::recv(socket_.get(), rest, sizeof(rest), 0);
  return count > 0 || (count < 0 && not_ready());
}

}  // namespace millrace
