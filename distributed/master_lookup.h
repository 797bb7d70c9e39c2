// The addresses of rank 0's machine: look-up of its name, which may not be known yet, and the
// choice of those that the ranks of all machines can reach.
#ifndef MILLRACE_DISTRIBUTED_MASTER_LOOKUP_H_
#define MILLRACE_DISTRIBUTED_MASTER_LOOKUP_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/net/socket.h"
#include "distributed/rank_environment.h"

namespace millrace {

using FoundAddresses = absl::StatusOr<std::vector<SocketAddress>>;

// Returns the addresses at which this rank reaches rank 0. `found`: those of MASTER_ADDR on this
// machine. `interface`: run.distributed.interface, or "".
//
// If ranks may run on other machines, loopback addresses are used only if there are no others.
// Then the address of `interface`, if given, replaces them: Debian's hosts file gives a host's own
// name the address 127.0.1.1, so that ranks on the machine of rank 0 find only a loopback address.
//
// Errors: InvalidArgument: ranks run on other machines, and MASTER_ADDR is a loopback address by
// number or by the name localhost, unless `interface` is the loopback interface; also any error of
// interface_address().
FoundAddresses reachable_addresses(const RankEnvironment& environment, const std::string& interface,
                                   std::vector<SocketAddress> found);

// Listens for the clients of the store, on rank 0. `address`: the first of the reachable addresses.
// Listens on all interfaces if `address` is the loopback address of a host name, ranks may run on
// other machines, and no interface is given. Logs that, and warns of an address that no other
// machine can reach. Errors: as listen_on().
absl::StatusOr<Socket> listen_for_ranks(const RankEnvironment& environment,
                                        const std::string& interface, const SocketAddress& address);

// Calls `find` until it succeeds or `timeout` has passed, with growing pauses of at most 2 s. The
// name servers of a cluster learn the name of a pod seconds after its start, so the first look-ups
// may fail. Logs that the rank waits for the name of `host`. Returns the result of the last call;
// an error other than Unavailable ends the calls.
FoundAddresses await_addresses(const std::string& host, absl::Duration timeout,
                               absl::FunctionRef<FoundAddresses()> find,
                               Clock& clock = Clock::real());

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MASTER_LOOKUP_H_
