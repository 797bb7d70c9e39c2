// Connections between ranks that the thread of the job works on itself.
#ifndef MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_
#define MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/mesh/sockets.h"

namespace millrace {

// One rank's connections to all other ranks, for one channel. No call but work_on_all() blocks.
//
// Called by one thread, apart from what says otherwise.
class PeerConnections {
 public:
  // `channel` names the channel in errors. `sockets[r]` is a connection to rank r with nothing read
  // from it; `sockets[rank]` is ignored.
  PeerConnections(absl::string_view channel, int rank, std::vector<Socket> sockets);
  ~PeerConnections();
  PeerConnections(const PeerConnections&) = delete;
  PeerConnections& operator=(const PeerConnections&) = delete;

  int rank() const { return rank_; }
  int world_size() const { return static_cast<int>(peers_.size()); }

  // Writes to `peer` the bytes of `first`, then those of `second`, as far as the connection accepts
  // them now. Returns: number of bytes written; 0 also if the connection is broken.
  size_t write(int peer, absl::string_view first, absl::string_view second = "");
  // True once a write failed: nothing can be sent to `peer` any more. What the peer sent before can
  // still be read.
  bool is_broken(int peer) const { return !peers_[peer].broken.empty(); }
  // Reads at most `size` bytes that have arrived from `peer`. Returns: number of bytes read; 0 if
  // none have arrived. REQUIRES: size > 0.
  // Errors: Unavailable (the connection is closed or broken, and everything has been read).
  absl::StatusOr<size_t> read(int peer, char* data, size_t size);

  // Reads and writes for one peer as far as that is possible now. Returns: the events of poll(2)
  // that must occur before it is worth calling again, POLLIN and POLLOUT; 0 if all is done.
  using Work = absl::FunctionRef<absl::StatusOr<short>(int peer)>;
  // Calls `work` for every other rank, beginning with the next higher one, and again after each
  // event, until all are done. Blocks. Errors: those of `work`, at the first one; Unavailable.
  absl::Status work_on_all(Work work);

  // Closes all connections, so that every work_on_all(), here and at the other ranks, ends with an
  // error. Any thread.
  void shut_down();
  // True if the connection to `peer` is closed. Any thread.
  bool lost(int peer) const;

 private:
  struct Peer {
    Socket socket;
    std::string broken;  // why nothing can be sent any more
  };

  absl::Status closed(int peer, absl::string_view why) const;

  const std::string channel_;
  const int rank_;
  std::vector<Peer> peers_;  // by rank
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_
