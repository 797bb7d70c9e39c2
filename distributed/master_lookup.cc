#include "distributed/master_lookup.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "distributed/wait_notice.h"

namespace millrace {

namespace {

bool may_have_other_machines(const RankEnvironment& environment) {
  return environment.local_world_size < environment.world_size;
}

// Returns false for addresses by number, and for names that mean loopback on every machine.
bool is_host_name(const std::string& host) {
  return !absl::StartsWith(host, "localhost") && !absl::StartsWith(host, "ip6-lo") &&
         !absl::StrContains(host, ':') &&
         host.find_first_not_of("0123456789.") != std::string::npos;
}

}  // namespace

FoundAddresses reachable_addresses(const RankEnvironment& environment, const std::string& interface,
                                   std::vector<SocketAddress> found) {
  if (!may_have_other_machines(environment)) return found;
  const auto loopback =
      std::stable_partition(found.begin(), found.end(),
                            [](const SocketAddress& address) { return !address.is_loopback(); });
  if (loopback != found.begin()) {
    found.erase(loopback, found.end());
    return found;
  }
  const bool host_name = is_host_name(environment.master_address);
  if (!interface.empty()) {
    ASSIGN_OR_RETURN(const SocketAddress own, interface_address(interface, environment.master_port),
                     "run.distributed.interface");
    if (host_name || own.is_loopback()) return std::vector<SocketAddress>{own};
  }
  if (host_name || !environment.other_machines) return found;
  return absl::InvalidArgumentError(absl::StrCat(
      "MASTER_ADDR is \"", environment.master_address,
      "\", which ranks of other machines cannot "
      "reach, but there are ",
      environment.world_size, " ranks, of which ", environment.local_world_size,
      " are on this machine; set it to the name or an address of rank 0's machine in the network, "
      "or, if all ranks are on this machine, set run.distributed.interface to \"lo\""));
}

absl::StatusOr<Socket> listen_for_ranks(const RankEnvironment& environment,
                                        const std::string& interface,
                                        const SocketAddress& address) {
  const std::string& host = environment.master_address;
  if (!address.is_loopback() || !may_have_other_machines(environment) || !interface.empty()) {
    return listen_on(address);
  }
  if (!is_host_name(host)) {
    MILLRACE_LOG(WARNING)
        << "MASTER_ADDR " << host << " is " << address.ip()
        << " on the machine of rank 0, which no other machine can reach; if ranks "
           "run on other machines, set it to an address of the network";
    return listen_on(address);
  }
  MILLRACE_LOG(INFO) << "MASTER_ADDR " << host << " is " << address.ip()
                     << " on the machine of rank 0, so the store listens on port " << address.port()
                     << " of every interface; set run.distributed.interface to choose one";
  ASSIGN_OR_RETURN(std::vector<SocketAddress> any, find_addresses("::", address.port()));
  absl::StatusOr<Socket> socket = listen_on(any[0]);
  if (socket.ok()) return socket;
  ASSIGN_OR_RETURN(any, find_addresses("0.0.0.0", address.port()));  // without IPv6
  return listen_on(any[0]);
}

FoundAddresses await_addresses(const std::string& host, absl::Duration timeout,
                               absl::FunctionRef<FoundAddresses()> find, Clock& clock) {
  constexpr absl::Duration kLongestPause = absl::Seconds(2);
  const absl::Duration deadline = clock.elapsed() + timeout;
  absl::Duration pause = absl::Milliseconds(100);
  WaitNotice notice(clock, deadline);
  const std::string awaited = absl::StrCat("for the name of the master, ", host, ", to be known");
  for (;;) {
    FoundAddresses addresses = find();
    if (!absl::IsUnavailable(addresses.status()) || clock.elapsed() + pause >= deadline) {
      return addresses;
    }
    notice.log_if_due(awaited);
    clock.sleep(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace millrace
