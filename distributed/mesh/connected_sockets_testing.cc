#include "distributed/mesh/connected_sockets_testing.h"

#include <tuple>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/log.h"

namespace millrace {

std::pair<Socket, Socket> connected_pair() {
  auto addresses = find_addresses("127.0.0.1", 0);
  MILLRACE_CHECK(addresses.ok());
  absl::StatusOr<Socket> listener = listen_on(addresses->at(0));
  MILLRACE_CHECK(listener.ok());
  absl::StatusOr<SocketAddress> address = local_address(*listener);
  MILLRACE_CHECK(address.ok());
  absl::StatusOr<Socket> one = connect_to(*address, Deadline(absl::Seconds(10)));
  MILLRACE_CHECK(one.ok());
  absl::StatusOr<Socket> other = accept_from(*listener, Deadline(absl::Seconds(10)));
  MILLRACE_CHECK(other.ok());
  return {*std::move(one), *std::move(other)};
}

std::vector<std::vector<Socket>> connected_ranks(int world_size) {
  std::vector<std::vector<Socket>> sockets(world_size);
  for (std::vector<Socket>& peers : sockets) peers.resize(world_size);
  for (int rank = 0; rank < world_size; ++rank) {
    for (int lower = 0; lower < rank; ++lower) {
      std::tie(sockets[rank][lower], sockets[lower][rank]) = connected_pair();
    }
  }
  return sockets;
}

}  // namespace millrace
