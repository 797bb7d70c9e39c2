// The socket calls for the store of a job: finding addresses, binding a port, and probing a server
// with a time limit. Blocking, IPv4 and IPv6.
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

// Returns the addresses of a host by name or number, IPv4 first. Errors: Unavailable.
absl::StatusOr<std::vector<SocketAddress>> find_addresses(const std::string& host, int port);

// Listens only on the address (port 0: on any free port). Errors: Unavailable: the port is taken,
// or the address does not belong to this machine.
absl::StatusOr<Socket> listen_on(const SocketAddress& address);

// Returns the address of a listening or connected socket on this machine.
absl::StatusOr<SocketAddress> local_address(const Socket& socket);

// Connects. Errors: Unavailable (refused, no route), DeadlineExceeded (nobody answers).
absl::StatusOr<Socket> connect_to(const SocketAddress& address, absl::Duration timeout);

// Sends `request` and returns the first `reply_size` bytes of the reply. Errors: Unavailable (the
// connection was closed), DeadlineExceeded (the bytes did not arrive in time).
absl::StatusOr<std::string> ask(const Socket& socket, absl::string_view request, int reply_size,
                                absl::Duration timeout);

// Returns the IP of this machine's interface that leads to `address`. Errors: Unavailable.
absl::StatusOr<std::string> ip_towards(const SocketAddress& address);

// Returns the descriptors of the process's sockets with a connection to `address`. Gives access to
// sockets that a library does not expose.
std::vector<int> sockets_connected_to(const SocketAddress& address);
// Limits the time of every blocking call on a socket; longer calls fail.
void limit_waits(int descriptor, absl::Duration limit);

// Makes writing to a connection that the other side closed an error instead of a signal, unless the
// process handles SIGPIPE itself.
void ignore_broken_pipes();

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_SOCKETS_H_
