#include "base/net/socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr absl::Duration kLongestPoll = absl::Hours(24);  // poll() takes an int

absl::Status socket_error(absl::string_view doing, int error) {
  return absl::UnavailableError(absl::StrCat(doing, ": ", std::strerror(error)));
}

// Returns the error of a connection to another process. Only a refusal or a reset comes from the
// other side: every other error may pass, as that of a link that is down.
absl::Status connection_error(absl::string_view doing, int error) {
  const absl::Status status = socket_error(doing, error);
  if (error == ECONNREFUSED || error == ECONNRESET || error == EPIPE) return status;
  return absl::DeadlineExceededError(absl::string_view(status.message()));
}

absl::Status cannot_connect(const SocketAddress& address, int error) {
  return connection_error(absl::StrCat("cannot connect to ", address.text()), error);
}

// Returns a socket that does not block. Errors: Unavailable, as for too many open files.
absl::StatusOr<Socket> make_socket(int family, int type) {
  Socket socket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return socket_error("cannot make a socket", errno);
  return socket;
}

void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof(value));
}

// Binds a new socket, which then listens if `listens`.
absl::StatusOr<Socket> bind_to(const SocketAddress& address, bool listens) {
  ASSIGN_OR_RETURN(Socket socket, make_socket(address.family(), SOCK_STREAM));
  // A port whose last user has just closed it may be reused; a port with a listener may not.
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.get(), address.get(), address.length()) == 0 &&
      (!listens || ::listen(socket.get(), SOMAXCONN) == 0)) {
    return socket;
  }
  if (errno == EADDRINUSE) {
    return absl::UnavailableError(
        absl::StrCat("port ", address.port(), " of ", address.ip(), " is taken"));
  }
  if (errno == EADDRNOTAVAIL) {
    return absl::UnavailableError(absl::StrCat(address.ip(), " is not an address of this machine"));
  }
  return socket_error(absl::StrCat("cannot listen on ", address.text()), errno);
}

// Transfers `size` bytes by calls of `transfer`, each of which returns the number of bytes of that
// call, or -1 with `errno`. `doing` names the call in errors.
template <typename Transfer>
absl::Status transfer_all(const Socket& socket, short event, size_t size, const Deadline& deadline,
                          absl::string_view doing, const Transfer& transfer) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = transfer(done);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count == 0) {
      return absl::UnavailableError("the connection was closed without an answer");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!poll_until(socket.get(), event, deadline)) {
        return absl::DeadlineExceededError("no answer in time");
      }
    } else if (errno != EINTR) {
      return connection_error(doing, errno);
    }
  }
  return absl::OkStatus();
}

// Returns the descriptors of the process's TCP connections that `wanted(local, peer)` selects.
std::vector<int> connected_sockets(
    absl::FunctionRef<bool(const SocketAddress& local, const SocketAddress& peer)> wanted) {
  const auto is_ip = [](const sockaddr_storage& address) {
    return address.ss_family == AF_INET || address.ss_family == AF_INET6;
  };
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder.get())) {
    int descriptor = -1;
    if (!absl::SimpleAtoi(entry->d_name, &descriptor)) continue;
    sockaddr_storage local = {}, peer = {};
    socklen_t local_length = sizeof(local), length = sizeof(peer);
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&local), &local_length) != 0 ||
        !is_ip(peer) || !is_ip(local)) {
      continue;
    }
    if (wanted(SocketAddress(reinterpret_cast<sockaddr*>(&local), local_length),
               SocketAddress(reinterpret_cast<sockaddr*>(&peer), length))) {
      found.push_back(descriptor);
    }
  }
  return found;
}

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
    if (ready == 0 && deadline.passed()) return 0;
  }
}

bool poll_until(int descriptor, short events, const Deadline& deadline) {
  pollfd polled = {descriptor, events, 0};
  return poll_until(absl::MakeSpan(&polled, 1), deadline) > 0;
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(length) {
  std::memcpy(&storage_, address, std::min<size_t>(length, sizeof(storage_)));
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

std::string SocketAddress::text() const {
  return family() == AF_INET6 ? absl::StrCat("[", ip(), "]:", port())
                              : absl::StrCat(ip(), ":", port());
}

bool SocketAddress::is_loopback() const { return absl::StartsWith(ip(), "127.") || ip() == "::1"; }

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

absl::StatusOr<SocketAddress> local_address(const Socket& socket) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return socket_error("getsockname", errno);
  }
  return SocketAddress(reinterpret_cast<sockaddr*>(&storage), length);
}

absl::StatusOr<SocketAddress> interface_address(const std::string& name, int port) {
  ifaddrs* listed = nullptr;
  if (::getifaddrs(&listed) != 0) return socket_error("getifaddrs", errno);
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(listed, ::freeifaddrs);
  SocketAddress found;
  std::set<std::string> names;
  for (const ifaddrs* entry = listed; entry != nullptr; entry = entry->ifa_next) {
    const int family = entry->ifa_addr == nullptr ? AF_UNSPEC : entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    names.insert(entry->ifa_name);
    const bool better =
        found.family() == AF_UNSPEC || (family == AF_INET && found.family() == AF_INET6);
    if (name != entry->ifa_name || !better) continue;
    sockaddr_storage address = {};
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address, entry->ifa_addr, length);
    // The port is at the same place in both families.
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);
    found = SocketAddress(reinterpret_cast<sockaddr*>(&address), length);
  }
  if (found.family() != AF_UNSPEC) return found;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no interface of this machine with an address; these are: ",
                   absl::StrJoin(names, ", ")));
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

absl::StatusOr<std::string> ip_towards(const SocketAddress& address) {
  // Connecting a datagram socket sends nothing; it only consults the routing table.
  ASSIGN_OR_RETURN(const Socket socket, make_socket(address.family(), SOCK_DGRAM));
  if (::connect(socket.get(), address.get(), address.length()) != 0) {
    return socket_error(absl::StrCat("no interface of this machine leads to ", address.text()),
                        errno);
  }
  ASSIGN_OR_RETURN(SocketAddress local, local_address(socket));
  return local.ip();
}

absl::StatusOr<Socket> listen_on(const SocketAddress& address) {
  return bind_to(address, /*listens=*/true);
}

absl::StatusOr<Socket> accept_from(const Socket& listener, const Deadline& deadline) {
  for (;;) {
    Socket socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() >= 0) {
      set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
      return socket;
    }
    // A connection that is gone again, or whose network fails, is no error of the listener.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == ENETDOWN ||
        errno == ENETUNREACH || errno == EHOSTDOWN || errno == EHOSTUNREACH || errno == ENONET) {
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) return socket_error("accept", errno);
    if (!poll_until(listener.get(), POLLIN, deadline)) {
      return absl::DeadlineExceededError("nobody connected");
    }
  }
}

absl::StatusOr<Socket> begin_to_connect(const SocketAddress& address) {
  absl::StatusOr<Socket> socket = make_socket(address.family(), SOCK_STREAM);
  if (!socket.ok()) {
    return absl::DeadlineExceededError(
        absl::StrCat("cannot connect to ", address.text(), ": ", socket.status().message()));
  }
  set_option(socket->get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(socket->get(), address.get(), address.length()) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    return cannot_connect(address, errno);
  }
  return socket;
}

absl::Status end_of_connecting(const Socket& socket, const SocketAddress& address) {
  int error = 0;
  socklen_t length = sizeof(error);
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? absl::OkStatus() : cannot_connect(address, error);
}

absl::StatusOr<Socket> connect_to(const SocketAddress& address, const Deadline& deadline) {
  ASSIGN_OR_RETURN(Socket socket, begin_to_connect(address));
  if (!poll_until(socket.get(), POLLOUT, deadline)) {
    return absl::DeadlineExceededError(
        absl::StrCat("cannot connect to ", address.text(), ": nobody answers"));
  }
  RETURN_IF_ERROR(end_of_connecting(socket, address));
  return socket;
}

absl::Status send_all(const Socket& socket, absl::string_view bytes, const Deadline& deadline) {
  return transfer_all(socket, POLLOUT, bytes.size(), deadline, "send", [&](size_t done) {
    const absl::string_view rest = bytes.substr(done);
    return ::send(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

absl::StatusOr<std::string> receive_all(const Socket& socket, int size, const Deadline& deadline) {
  std::string bytes(size, '\0');
  RETURN_IF_ERROR(transfer_all(socket, POLLIN, bytes.size(), deadline, "recv", [&](size_t done) {
    return ::recv(socket.get(), &bytes[done], bytes.size() - done, MSG_DONTWAIT);
  }));
  return bytes;
}

absl::StatusOr<ReservedPort> reserve_port() {
  ReservedPort port;
  ASSIGN_OR_RETURN(const std::vector<SocketAddress> any, find_addresses("127.0.0.1", 0));
  ASSIGN_OR_RETURN(port.socket, bind_to(any[0], /*listens=*/false), "cannot find a free port");
  ASSIGN_OR_RETURN(const SocketAddress address, local_address(port.socket));
  port.number = address.port();
  return port;
}

std::vector<int> sockets_connected_to(const SocketAddress& address) {
  return connected_sockets(
      [&](const SocketAddress&, const SocketAddress& peer) { return peer == address; });
}

std::vector<int> sockets_connected_from(const std::string& ip) {
  return connected_sockets(
      [&](const SocketAddress& local, const SocketAddress&) { return local.ip() == ip; });
}

void detect_loss(int descriptor, absl::Duration limit) {
  const absl::Duration silence = std::clamp(limit / 4, absl::Seconds(1), absl::Seconds(30));
  const absl::Duration interval = std::max(silence / 3, absl::Seconds(1));
  const auto seconds = [](absl::Duration time) {
    return static_cast<int>(absl::ToInt64Seconds(time));
  };
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, seconds(silence));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, seconds(interval));
  // Decides also when silent connections end.
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT,
             static_cast<int>(absl::ToInt64Milliseconds(limit)));
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
