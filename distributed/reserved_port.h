// A port for the ranks of one machine.
#ifndef MILLRACE_DISTRIBUTED_RESERVED_PORT_H_
#define MILLRACE_DISTRIBUTED_RESERVED_PORT_H_

#include "absl/status/statusor.h"
#include "distributed/mesh/sockets.h"

namespace millrace {

// A TCP port of 127.0.0.1 that nobody uses, and the socket that keeps others from being given it.
// A rank can listen on it meanwhile: a socket that is bound with SO_REUSEADDR, and does not listen,
// hinders only those without.
struct ReservedPort {
  Socket socket;
  int number = 0;
};

// Errors: Unavailable if there is none.
absl::StatusOr<ReservedPort> reserve_port();

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RESERVED_PORT_H_
