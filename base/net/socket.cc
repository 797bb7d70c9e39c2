#include "base/net/socket.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace millrace {
namespace {

constexpr absl::Duration kLongestPoll = absl::Hours(24);  // poll() takes an int

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int Socket::release() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

absl::Duration Deadline::left() const {
  return std::max(end_ - clock_->elapsed(), absl::ZeroDuration());
}

int poll_until(absl::Span<pollfd> polled, const Deadline& deadline) {
  for (;;) {
    // Rounds up, so that the last millisecond is not spent in a loop.
    const absl::Duration time = std::min(deadline.left() + absl::Microseconds(999), kLongestPoll);
    const int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>(absl::ToInt64Milliseconds(time)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return ready;
    if (ready == 0 && deadline.left() == absl::ZeroDuration()) return 0;
  }
}

}  // namespace millrace
