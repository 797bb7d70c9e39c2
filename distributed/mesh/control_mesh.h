// Sums of a few integers over ranks, on connections that the rank's own thread serves.
#ifndef MILLRACE_DISTRIBUTED_MESH_CONTROL_MESH_H_
#define MILLRACE_DISTRIBUTED_MESH_CONTROL_MESH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/net/socket.h"
#include "distributed/mesh/peer_connections.h"

namespace millrace {

// One rank's connections to all others. A sum is one message from each rank to every other rank,
// written by start() itself: a separate thread would need a core before the message could proceed.
//
//   mesh.start(1, values);
//   ...                                              // the others' messages arrive
//   RETURN_IF_ERROR(mesh.wait(1, absl::MakeSpan(values)));
//
// Data that does not fit into the connections' buffers (which hold about 100 KB) is written by the
// next wait(), of any sum; no wait() returns before everything is written. So only larger messages
// make wait() depend on the other ranks being in a wait() or start().
//
// A message is {ordinal, count} as 64-bit integers and `count` values, all in native byte order:
// ranks have the same version and byte order.
//
// Called by one thread, except where noted.
class ControlMesh {
 public:
  // peers[r] is a connection to rank r with nothing read from it; peers[rank] is ignored.
  ControlMesh(int rank, std::vector<Socket> peers);
  ControlMesh(const ControlMesh&) = delete;
  ControlMesh& operator=(const ControlMesh&) = delete;

  // Starts the sum with this ordinal: 1, 2, … on every rank. wait() reports errors.
  void start(int64_t ordinal, absl::Span<const int64_t> values);
  // Waits for the values of all other ranks and adds them to `values`, which wraps around. In any
  // order, once for each sum.
  // REQUIRES: `values` as given to start().
  // Errors: Unavailable (a connection is closed), FailedPrecondition (a rank sums another number of
  // values, or sends invalid data). After an error all calls fail.
  absl::Status wait(int64_t ordinal, absl::Span<int64_t> values);
  // Waits for a sum of floating-point numbers, which start() got as integers of the same bits. Adds
  // the values in the order of ranks, so that all ranks get the same bits.
  absl::Status wait(int64_t ordinal, absl::Span<double> values);
  // Abandons a sum without waiting. The other ranks still get this rank's values.
  void drop(int64_t ordinal);

  // See PeerConnections. Any thread.
  void shut_down() { connections_.shut_down(); }
  bool lost(int rank) const { return connections_.lost(rank); }
  absl::Duration silence(int rank) const { return connections_.silence(rank); }

 private:
  struct Peer {
    std::string unsent;
    std::string input;     // of an incomplete message
    int64_t received = 0;  // messages; also the ordinal of the last one
  };
  struct Message {
    int rank = 0;
    std::vector<int64_t> values;
  };
  // A sum that this rank has started and not ended, or whose values a faster rank has sent.
  struct Sum {
    bool started = false;
    uint64_t count = 0;  // if started
    std::vector<Message> messages;
  };

  // Waits until the messages of all other ranks have come, each of `count` values, and nothing is
  // unsent. Returns the messages ordered by rank.
  absl::StatusOr<std::vector<Message>> take(int64_t ordinal, size_t count);
  // Writes as much as the connection accepts.
  void send(int rank);
  // Reads from the rank until the message with this ordinal is complete.
  absl::Status receive(int rank, int64_t ordinal);
  absl::Status take_messages(int rank);
  absl::Status check_header(int rank, uint64_t ordinal, uint64_t count) const;

  PeerConnections connections_;
  std::vector<Peer> peers_;  // by rank
  int64_t started_ = 0;
  uint64_t largest_count_ = 0;   // of values, of the sums that this rank has started
  std::map<int64_t, Sum> sums_;  // by ordinal
  std::string scratch_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_CONTROL_MESH_H_
