#include "distributed/reserved_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<ReservedPort> reserve_port() {
  ReservedPort port;
  port.socket = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::setsockopt(port.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(port.socket.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0) {
    return absl::UnavailableError(absl::StrCat("cannot find a free port: ", std::strerror(errno)));
  }
  ASSIGN_OR_RETURN(const SocketAddress address, local_address(port.socket));
  port.number = address.port();
  return port;
}

}  // namespace millrace
