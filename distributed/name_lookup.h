// Look-up of the addresses of rank 0's machine, whose name may not be known yet.
#ifndef MILLRACE_DISTRIBUTED_NAME_LOOKUP_H_
#define MILLRACE_DISTRIBUTED_NAME_LOOKUP_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/net/socket.h"

namespace millrace {

using FoundAddresses = absl::StatusOr<std::vector<SocketAddress>>;

// Calls `find` until it succeeds or `timeout` has passed, with growing pauses of at most 2 s. The
// name servers of a cluster learn the name of a pod seconds after its start, so the first look-ups
// may fail. Logs that the rank waits for the name of `host`. Returns the result of the last call.
FoundAddresses await_addresses(const std::string& host, absl::Duration timeout,
                               absl::FunctionRef<FoundAddresses()> find,
                               Clock& clock = Clock::real());

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_NAME_LOOKUP_H_
