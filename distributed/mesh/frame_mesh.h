// Messages of any size between every two ranks, on connections that the rank's own thread works on.
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
#include "distributed/mesh/peer_connections.h"
#include "distributed/mesh/sockets.h"

namespace millrace {

// One rank's connections to all others. An exchange is one message from each rank to each other
// one. Bytes go from the buffers of the caller into the sockets and from the sockets into the
// buffers of the caller, without a copy and without a thread in between.
//
//   mesh.start(1, sent, absl::MakeSpan(received));
//   ...                                            // as much is on its way as connections hold
//   RETURN_IF_ERROR(mesh.wait(1));
//
// wait() sends and receives at the same time, so that messages of any size cannot block one
// another. It returns once the messages of this exchange and of all earlier ones are sent and
// received; of later ones, it sends what connections accept meanwhile.
//
// A message is {magic, ordinal, bytes} as 64-bit integers and then its bytes, all as they are in
// memory: ranks are of one version and byte order.
//
// Called by one thread, apart from what says otherwise.
class FrameMesh {
 public:
  // Bytes in front of each message.
  static constexpr size_t kHeaderBytes = 24;

  // peers[r] is a connection to rank r with nothing read from it; peers[rank] is ignored.
  FrameMesh(int rank, std::vector<Socket> peers);
  FrameMesh(const FrameMesh&) = delete;
  FrameMesh& operator=(const FrameMesh&) = delete;

  // Starts the exchange with this ordinal: 1, 2, … on every rank. See Collectives::start_exchange()
  // for the buffers. wait() reports errors.
  void start(int64_t ordinal, absl::Span<const ByteBuffer> sent, absl::Span<ByteBuffer> received);
  // Waits for an exchange that was started. In any order, at most once for each exchange.
  // Errors: Unavailable (a connection is closed), FailedPrecondition (a rank sent something else
  // than a message), ResourceExhausted (no memory for a message). Nothing works after an error.
  absl::Status wait(int64_t ordinal);
  // Gives the buffers of an exchange back before it is over. Copies what is not yet sent, so that
  // the other ranks receive it nevertheless. Discards what the others send.
  void drop(int64_t ordinal);

  // Number of bytes that sockets have accepted so far.
  int64_t bytes_sent() const { return bytes_sent_; }
  // Time inside wait() until the messages of all other ranks had begun to arrive; the rest of it.
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
    // Number of messages received completely, and how far the next one has come.
    int64_t received = 0;
    Header header;
    size_t header_read = 0;
    uint64_t payload_size = 0;
    uint64_t payload_read = 0;
  };

  // True if the first byte of the message with this ordinal is there.
  bool has_begun(const Peer& peer, int64_t ordinal) const {
    return peer.received >= ordinal || (peer.received + 1 == ordinal && peer.header_read > 0);
  }
  // Writes what the connection accepts.
  void send(int rank);
  // Reads what has arrived, up to the end of the message with this ordinal.
  absl::Status receive(int rank, int64_t ordinal);
  // Reads a part of the header or of the payload. Returns: number of bytes; 0 if none have arrived.
  absl::StatusOr<size_t> receive_header(int rank);
  absl::StatusOr<size_t> receive_payload(int rank);
  // Checks a header that is complete and makes room for its payload.
  absl::Status begin_message(int rank);
  // Where the message that is being received goes; null: nobody waits for it.
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
