#include "distributed/mesh/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status socket_error(absl::string_view doing, const SocketAddress& address, int error) {
  return absl::UnavailableError(
      absl::StrCat(doing, " ", address.ip(), ":", address.port(), ": ", std::strerror(error)));
}

// Waits until `socket` is ready for `events`. Returns false after the deadline.
bool wait_ready(const Socket& socket, short events, const Deadline& deadline) {
  pollfd polled = {.fd = socket.get(), .events = events, .revents = 0};
  return poll_until(absl::MakeSpan(&polled, 1), deadline) > 0;
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  if (length > 0) std::memcpy(&storage_, address, std::min<size_t>(length, sizeof(storage_)));
  if (family() != AF_INET6) return;
  const sockaddr_in6 six = *reinterpret_cast<const sockaddr_in6*>(&storage_);
  if (!IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return;
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  std::memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof(four.sin_addr));
  storage_ = {};
  std::memcpy(&storage_, &four, sizeof(four));
  length_ = sizeof(four);
}

std::string SocketAddress::ip() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(get())->sin6_addr, text,
              sizeof(text));
  } else {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(get())->sin_addr, text, sizeof(text));
  }
  return text;
}

int SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(get())->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(get())->sin_port);
}

bool SocketAddress::operator==(const SocketAddress& other) const {
  return family() == other.family() && port() == other.port() && ip() == other.ip();
}

absl::StatusOr<std::vector<SocketAddress>> find_addresses(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot find the address of \"", host, "\": ", gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    addresses.emplace_back(info->ai_addr, info->ai_addrlen);
  }
  freeaddrinfo(found);
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const SocketAddress& address) { return address.family() == AF_INET; });
  return addresses;
}

absl::StatusOr<Socket> listen_on(const SocketAddress& address) {
  Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return socket_error("cannot make a socket for", address, errno);
  // A port whose last user has just closed it may be reused; a port with a listener may not.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), address.get(), address.length()) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) {
      return absl::UnavailableError(
          absl::StrCat("port ", address.port(), " of ", address.ip(), " is taken"));
    }
    if (errno == EADDRNOTAVAIL) {
      return absl::UnavailableError(
          absl::StrCat(address.ip(), " is not an address of this machine"));
    }
    return socket_error("cannot listen on", address, errno);
  }
  return socket;
}

absl::StatusOr<SocketAddress> local_address(const Socket& socket) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return absl::UnavailableError(absl::StrCat("getsockname: ", std::strerror(errno)));
  }
  return SocketAddress(reinterpret_cast<sockaddr*>(&storage), length);
}

absl::StatusOr<Socket> connect_to(const SocketAddress& address, absl::Duration timeout) {
  const Deadline deadline(timeout);
  Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return socket_error("cannot make a socket for", address, errno);
  if (::connect(socket.get(), address.get(), address.length()) == 0) return socket;
  if (errno != EINPROGRESS && errno != EINTR) {
    return socket_error("cannot connect to", address, errno);
  }
  if (!wait_ready(socket, POLLOUT, deadline)) {
    return absl::DeadlineExceededError(
        absl::StrCat("cannot connect to ", address.ip(), ":", address.port(), ": nobody answers"));
  }
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return socket_error("cannot connect to", address, error);
  return socket;
}

absl::StatusOr<std::string> ask(const Socket& socket, absl::string_view request, int reply_size,
                                absl::Duration timeout) {
  const Deadline deadline(timeout);
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return absl::UnavailableError(absl::StrCat("send: ", std::strerror(errno)));
  }
  std::string reply(reply_size, '\0');
  int filled = 0;
  while (filled < reply_size) {
    if (!wait_ready(socket, POLLIN, deadline)) {
      return absl::DeadlineExceededError("no answer in time");
    }
    const ssize_t count = ::recv(socket.get(), &reply[filled], reply_size - filled, MSG_DONTWAIT);
    if (count > 0) {
      filled += static_cast<int>(count);
    } else if (count == 0) {
      return absl::UnavailableError("the connection was closed without an answer");
    } else if (errno != EINTR && errno != EAGAIN) {
      return absl::UnavailableError(absl::StrCat("recv: ", std::strerror(errno)));
    }
  }
  return reply;
}

absl::StatusOr<std::string> ip_towards(const SocketAddress& address) {
  // Connecting a datagram socket sends nothing; it only consults the routing table.
  Socket socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::connect(socket.get(), address.get(), address.length()) != 0) {
    return socket_error("no interface of this machine leads to", address, errno);
  }
  ASSIGN_OR_RETURN(SocketAddress local, local_address(socket));
  return local.ip();
}

std::vector<int> sockets_connected_to(const SocketAddress& address) {
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder.get())) {
    int descriptor = -1;
    if (!absl::SimpleAtoi(entry->d_name, &descriptor)) continue;
    sockaddr_storage peer = {};
    socklen_t length = sizeof(peer);
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) continue;
    if (SocketAddress(reinterpret_cast<sockaddr*>(&peer), length) == address) {
      found.push_back(descriptor);
    }
  }
  return found;
}

void limit_waits(int descriptor, absl::Duration limit) {
  const timeval value = absl::ToTimeval(limit);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

void ignore_broken_pipes() {
  struct sigaction action = {};
  sigaction(SIGPIPE, nullptr, &action);
  if (action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

}  // namespace millrace
