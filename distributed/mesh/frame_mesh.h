// Messages of any size between each pair of ranks, on connections that the rank's own thread
// serves.
#ifndef MILLRACE_DISTRIBUTED_MESH_FRAME_MESH_H_
#define MILLRACE_DISTRIBUTED_MESH_FRAME_MESH_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/byte_buffer.h"
#include "base/net/socket.h"
#include "distributed/mesh/peer_connections.h"

namespace millrace {

// One rank's connections to all others. An exchange is one message from each rank to every other
// rank. Bytes go from the caller's buffers into the sockets and from the sockets into the caller's
// buffers, without a copy and without another thread.
//
//   mesh.start(1, sent, absl::MakeSpan(received));
//   ...                                            // as much is on its way as connections hold
//   RETURN_IF_ERROR(mesh.wait(1));
//
// wait() sends and receives at the same time, so messages of any size cannot block one another.
// wait() returns once the messages of the exchange and of all earlier exchanges are sent and
// received. In the same time, messages of later exchanges are sent as far as connections accept
// them.
//
// A message is {magic, ordinal, bytes} as 64-bit integers and then the bytes, all in native byte
// order: ranks have the same version and byte order.
//
// Called by one thread, except where noted.
class FrameMesh {
 public:
  // Bytes of the header of each message.
  static constexpr size_t kHeaderBytes = 24;

  // peers[r] is a connection to rank r with nothing read from it; peers[rank] is ignored.
  FrameMesh(int rank, std::vector<Socket> peers);
  FrameMesh(const FrameMesh&) = delete;
  FrameMesh& operator=(const FrameMesh&) = delete;

  // Starts the exchange with this ordinal: 1, 2, … on every rank. See Collectives::start_exchange()
  // for the buffers. wait() reports errors.
  void start(int64_t ordinal, absl::Span<const ByteBuffer> sent, absl::Span<ByteBuffer> received);
  // Waits for an exchange that was started. In any order, at most once for each exchange.
  // Errors: Unavailable (a connection is closed), FailedPrecondition (a rank sent something other
  // than a message), ResourceExhausted (no memory for a message). After an error all calls fail.
  absl::Status wait(int64_t ordinal);
  // Releases the buffers of an exchange before its end. Copies unsent data, which is still sent to
  // the other ranks. Discards the messages of the other ranks.
  void drop(int64_t ordinal);

  // Number of bytes that sockets have accepted so far.
  int64_t bytes_sent() const { return bytes_sent_; }
  // Time inside wait() until the messages of all other ranks had begun to arrive; the rest of the
  // time inside wait().
  absl::Duration awaiting_ranks() const { return awaiting_ranks_; }
  absl::Duration transferring() const { return transferring_; }

  // See PeerConnections. Any thread.
  void shut_down() { connections_.shut_down(); }
  bool lost(int rank) const { return connections_.lost(rank); }

 private:
  using Header = std::array<char, kHeaderBytes>;
  // A message that is not completely sent.
  struct Outgoing {
    int64_t ordinal = 0;
    Header header;
    absl::string_view payload;
    size_t written = 0;    // of header and payload
    std::string own_copy;  // of the payload, after drop()
  };
  struct Peer {
    std::deque<Outgoing> unsent;
    // Number of messages received completely, and the progress of the next message.
    int64_t received = 0;
    Header header;
    size_t header_read = 0;
    uint64_t payload_size = 0;
    uint64_t payload_read = 0;
  };

  // Returns true if the first byte of the message with this ordinal has arrived.
  bool has_begun(const Peer& peer, int64_t ordinal) const {
    return peer.received >= ordinal || (peer.received + 1 == ordinal && peer.header_read > 0);
  }
  // Writes as much as the connection accepts.
  void send(int rank);
  // Reads the available data, up to the end of the message with this ordinal.
  absl::Status receive(int rank, int64_t ordinal);
  // Reads a part of the header or of the payload. Returns the number of bytes; 0 if none have
  // arrived.
  absl::StatusOr<size_t> receive_header(int rank);
  absl::StatusOr<size_t> receive_payload(int rank);
  // Checks a complete header and makes room for its payload.
  absl::Status begin_message(int rank);
  // Returns the destination of the message that is being received; null: the message is discarded.
  ByteBuffer* destination(int rank);

  PeerConnections connections_;
  std::vector<Peer> peers_;                              // by rank
  std::map<int64_t, absl::Span<ByteBuffer>> exchanges_;  // started and not over, by ordinal
  int64_t bytes_sent_ = 0;
  absl::Duration awaiting_ranks_ = absl::ZeroDuration();
  absl::Duration transferring_ = absl::ZeroDuration();
  std::string discarded_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_FRAME_MESH_H_
