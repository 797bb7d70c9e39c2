// Owned sockets, and waiting for sockets.
#ifndef MILLRACE_BASE_NET_SOCKET_H_
#define MILLRACE_BASE_NET_SOCKET_H_

#include <poll.h>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"

namespace millrace {

// Owns a file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int get() const { return descriptor_; }
  int release();  // gives it up, open

 private:
  int descriptor_ = -1;
};

// The end of a time span. Uses Clock::elapsed(), so a change of the time of day has no effect.
class Deadline {
 public:
  // Borrows `clock`.
  explicit Deadline(absl::Duration timeout, const Clock& clock = Clock::real())
      : clock_(&clock), end_(clock.elapsed() + timeout) {}
  static Deadline never() { return Deadline(absl::InfiniteDuration()); }

  // Returns the time until the deadline, 0 after it.
  absl::Duration left() const;

 private:
  const Clock* clock_;
  absl::Duration end_;
};

// Calls poll() until a descriptor is ready or the deadline has passed, also after signals. Polls at
// least once. Returns the number of ready descriptors; 0 after the deadline; -1 after an error,
// with `errno`.
int poll_until(absl::Span<pollfd> polled, const Deadline& deadline);

}  // namespace millrace

#endif  // MILLRACE_BASE_NET_SOCKET_H_
