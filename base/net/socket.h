// Sockets: owned descriptors, and TCP with deadlines over IPv4 and IPv6.
#ifndef MILLRACE_BASE_NET_SOCKET_H_
#define MILLRACE_BASE_NET_SOCKET_H_

#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
  bool passed() const { return left() == absl::ZeroDuration(); }

 private:
  const Clock* clock_;
  absl::Duration end_;
};

// Calls poll() until a descriptor is ready or the deadline has passed, also after signals. Polls at
// least once. Returns the number of ready descriptors; 0 after the deadline; -1 after an error,
// with `errno`.
int poll_until(absl::Span<pollfd> polled, const Deadline& deadline);
// Does the same for one descriptor. Returns true if the descriptor is ready for one of `events`, or
// has an error or its end.
bool poll_until(int descriptor, short events, const Deadline& deadline);

// An address with a port. IPv4 written as IPv6 becomes plain IPv4.
class SocketAddress {
 public:
  SocketAddress() = default;  // of no family
  SocketAddress(const sockaddr* address, socklen_t length);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  int family() const { return storage_.ss_family; }
  std::string ip() const;  // "127.0.0.1", "::1"
  int port() const;
  std::string text() const;  // "127.0.0.1:80", "[::1]:80"
  bool is_loopback() const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_ = {};
  socklen_t length_ = 0;
};

// ---- addresses ----

// Returns the addresses of a host by name or number, IPv4 first. Errors: Unavailable.
absl::StatusOr<std::vector<SocketAddress>> find_addresses(const std::string& host, int port);
// Returns the address of a listening or connected socket on this machine. Errors: Unavailable.
absl::StatusOr<SocketAddress> local_address(const Socket& socket);
// Returns the address of the interface of this machine with this name, IPv4 first. Errors:
// InvalidArgument naming the interfaces that have an address.
absl::StatusOr<SocketAddress> interface_address(const std::string& name, int port);
// Returns the name of this machine; "" if the system does not know one.
std::string host_name();
// Returns the IP of this machine's interface that leads to `address`. Errors: Unavailable.
absl::StatusOr<std::string> ip_towards(const SocketAddress& address);

// ---- connections ----
// No socket blocks: a call waits until its deadline, at most. Connections send at once
// (TCP_NODELAY). Writing to a closed connection is an error and raises no signal.

// Listens only on the address (port 0: on any free port); on "::" for IPv4 too. Errors:
// Unavailable: the port is taken, or the address does not belong to this machine.
absl::StatusOr<Socket> listen_on(const SocketAddress& address);
// Waits for a connection to a listening socket. Errors: DeadlineExceeded (nobody connected),
// Unavailable (no descriptor is free, or the socket is shut down).
absl::StatusOr<Socket> accept_from(const Socket& listener, const Deadline& deadline);
// Connects. Errors: Unavailable (the other machine refused or reset the connection: nobody
// listens), DeadlineExceeded (nobody answers, no route, or any other error after which a later try
// may succeed).
absl::StatusOr<Socket> connect_to(const SocketAddress& address, const Deadline& deadline);
// Does the same in two parts, neither of which waits: once poll() reports POLLOUT or an error for
// the socket of begin_to_connect(), end_of_connecting() returns whether it is connected. Errors:
// as connect_to().
absl::StatusOr<Socket> begin_to_connect(const SocketAddress& address);
absl::Status end_of_connecting(const Socket& socket, const SocketAddress& address);

// Sends all of `bytes`. Errors: Unavailable (the other side closed the connection),
// DeadlineExceeded (the deadline passed, or the network failed).
absl::Status send_all(const Socket& socket, absl::string_view bytes, const Deadline& deadline);
// Receives `size` bytes. Errors: as send_all().
absl::StatusOr<std::string> receive_all(const Socket& socket, int size, const Deadline& deadline);

// ---- ports and sockets of others ----

// An unused TCP port of 127.0.0.1, and the socket that reserves the port. A program can still
// listen on the port: a socket that is bound with SO_REUSEADDR and does not listen blocks only
// sockets without SO_REUSEADDR.
struct ReservedPort {
  Socket socket;
  int number = 0;
};
// Reserves a port. Errors: Unavailable if no port is free.
absl::StatusOr<ReservedPort> reserve_port();

// Returns the descriptors of the process's sockets with a connection to `address`. Gives access to
// sockets that a library does not expose.
std::vector<int> sockets_connected_to(const SocketAddress& address);
// Returns the descriptors of the process's sockets with a connection from the IP `ip`.
std::vector<int> sockets_connected_from(const std::string& ip);
// Finds a TCP connection whose other side is gone without a reset, and keeps firewalls from
// forgetting a silent one: after a quarter of `limit` without data, at most 30 s, the kernel asks
// the other side, then every third of that time. Closes the connection (ETIMEDOUT) once the other
// side has acknowledged nothing for `limit`, or has accepted no data for so long.
void detect_loss(int descriptor, absl::Duration limit);
// Limits the time of every blocking call on a socket; longer calls fail.
void limit_waits(int descriptor, absl::Duration limit);
// Makes writing to a connection that the other side closed an error instead of a signal, unless the
// process handles SIGPIPE itself. For libraries that write without MSG_NOSIGNAL.
void ignore_broken_pipes();

}  // namespace millrace

#endif  // MILLRACE_BASE_NET_SOCKET_H_
