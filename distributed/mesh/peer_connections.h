// Connections between ranks that the thread of the job serves itself.
#ifndef MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_
#define MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/net/socket.h"

namespace millrace {

// One rank's connections to all others, for one channel. Only work_on_all() blocks.
//
// Called by one thread, except where noted.
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

  // Writes to `peer` the bytes of `first`, then the bytes of `second`, as far as the connection
  // accepts them now. Returns the number of bytes written; 0 also if the connection is broken.
  size_t write(int peer, absl::string_view first, absl::string_view second = "");
  // Returns true once a write failed: no more data can be sent to `peer`. Data that the peer sent
  // before can still be read.
  bool is_broken(int peer) const { return !peers_[peer].broken.empty(); }
  // Reads at most `size` bytes that have arrived from `peer`. Returns the number of bytes read; 0
  // if none have arrived.
  // REQUIRES: size > 0.
  // Errors: Unavailable (the connection is closed or broken, and everything has been read).
  absl::StatusOr<size_t> read(int peer, char* data, size_t size);

  // Reads and writes for one peer as far as possible now. Returns the events of poll(2) that must
  // occur before another call is useful, POLLIN and POLLOUT; 0 if all work is done.
  using Work = absl::FunctionRef<absl::StatusOr<short>(int peer)>;
  // Calls `work` for every other rank, beginning with the next higher rank, and again after each
  // event, until all are done. Blocks. Errors: the first error of `work`; Unavailable.
  absl::Status work_on_all(Work work);

  // Closes all connections, so that every work_on_all(), on this and on other ranks, ends with an
  // error. Any thread.
  void shut_down();
  // Returns true if the connection to `peer` is closed. Any thread.
  bool lost(int peer) const;
  // Returns the time since the kernel last received a packet from `peer`, also one without data, as
  // detect_loss() causes. Any thread.
  absl::Duration silence(int peer) const;

 private:
  struct Peer {
    Socket socket;
    std::string broken;  // the error after which no data can be sent
  };

  absl::Status closed(int peer, absl::string_view why) const;

  const std::string channel_;
  const int rank_;
  std::vector<Peer> peers_;  // by rank
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_PEER_CONNECTIONS_H_
