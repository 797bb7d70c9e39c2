// The few socket calls around the store of a job: finding addresses, binding a port, and asking
// with a time limit what listens on one. Blocking, IPv4 and IPv6.
#ifndef MILLRACE_DISTRIBUTED_MESH_SOCKETS_H_
#define MILLRACE_DISTRIBUTED_MESH_SOCKETS_H_

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/net/socket.h"

namespace millrace {

// An address with a port. IPv4 written as IPv6 becomes plain IPv4.
class SocketAddress {
 public:
  SocketAddress(const sockaddr* address, socklen_t length);
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }
  int family() const { return storage_.ss_family; }
  std::string ip() const;  // "127.0.0.1", "::1"
  int port() const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_ = {};
  socklen_t length_ = 0;
};

// The addresses of a host by name or number, IPv4 first. Errors: Unavailable.
absl::StatusOr<std::vector<SocketAddress>> find_addresses(const std::string& host, int port);

// Listens on the address (port 0: on any free port) and on no other. Errors: Unavailable: the port
// is taken, or the address is not one of this machine.
absl::StatusOr<Socket> listen_on(const SocketAddress& address);

// The address that a listening or connected socket has on this machine.
absl::StatusOr<SocketAddress> local_address(const Socket& socket);

// Connects. Errors: Unavailable (refused, no route), DeadlineExceeded (nobody answers).
absl::StatusOr<Socket> connect_to(const SocketAddress& address, absl::Duration timeout);

// Sends `request` and returns the first `reply_size` bytes that come back. Errors: Unavailable (the
// connection was closed), DeadlineExceeded (the bytes did not come in time).
absl::StatusOr<std::string> ask(const Socket& socket, absl::string_view request, int reply_size,
                                absl::Duration timeout);

// The IP of this machine's interface that leads to `address`. Errors: Unavailable.
absl::StatusOr<std::string> ip_towards(const SocketAddress& address);

// The sockets of this process that are connected to `address`, as descriptors: to get at one that a
// library keeps to itself.
std::vector<int> sockets_connected_to(const SocketAddress& address);
// Makes every blocking call on a socket fail that takes longer.
void limit_waits(int descriptor, absl::Duration limit);

// Makes writing to a connection that the other side closed an error, unless the process handles
// SIGPIPE itself.
void ignore_broken_pipes();

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_SOCKETS_H_
