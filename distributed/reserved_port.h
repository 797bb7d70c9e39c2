// A port for the ranks of one machine.
#ifndef MILLRACE_DISTRIBUTED_RESERVED_PORT_H_
#define MILLRACE_DISTRIBUTED_RESERVED_PORT_H_

#include "absl/status/statusor.h"
#include "distributed/mesh/sockets.h"

namespace millrace {

// An unused TCP port of 127.0.0.1, and the socket that reserves the port. A rank can still listen
// on the port: a socket that is bound with SO_REUSEADDR and does not listen blocks only sockets
// without SO_REUSEADDR.
struct ReservedPort {
  Socket socket;
  int number = 0;
};

// Reserves a port. Errors: Unavailable if no port is free.
absl::StatusOr<ReservedPort> reserve_port();

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RESERVED_PORT_H_
