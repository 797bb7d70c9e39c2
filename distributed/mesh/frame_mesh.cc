#include "distributed/mesh/frame_mesh.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

struct HeaderFields {
  uint64_t magic = 0;
  uint64_t ordinal = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(HeaderFields) == FrameMesh::kHeaderBytes);

constexpr uint64_t kMagic = 0x656c62617472726d;  // "mrrtable" in memory
// Larger sizes are damage.
constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr size_t kDiscardSize = 64 << 10;

}  // namespace

FrameMesh::FrameMesh(int rank, std::vector<Socket> peers)
    : connections_("table", rank, std::move(peers)), peers_(connections_.world_size()) {}

void FrameMesh::start(int64_t ordinal, absl::Span<const ByteBuffer> sent,
                      absl::Span<ByteBuffer> received) {
  MILLRACE_CHECK(sent.size() == peers_.size() && received.size() == peers_.size());
  exchanges_[ordinal] = received;
  received[connections_.rank()].clear();
  for (int i = 1; i < peers_.size(); ++i) {
    const int rank = (connections_.rank() + i) % connections_.world_size();
    Outgoing& message = peers_[rank].unsent.emplace_back();
    message.ordinal = ordinal;
    message.payload = sent[rank].view();
    const HeaderFields fields = {kMagic, static_cast<uint64_t>(ordinal), message.payload.size()};
    std::memcpy(message.header.data(), &fields, sizeof(fields));
    send(rank);
  }
}

void FrameMesh::send(int rank) {
  std::deque<Outgoing>& unsent = peers_[rank].unsent;
  while (!unsent.empty()) {
    Outgoing& message = unsent.front();
    const absl::string_view header(message.header.data(), message.header.size());
    const size_t header_written = std::min(message.written, header.size());
    const absl::string_view payload = message.payload.substr(message.written - header_written);
    const size_t count = header_written < header.size()
                             ? connections_.write(rank, header.substr(header_written), payload)
                             : connections_.write(rank, payload);
    if (count == 0) break;
    bytes_sent_ += static_cast<int64_t>(count);
    message.written += count;
    if (message.written == header.size() + message.payload.size()) unsent.pop_front();
  }
  if (connections_.is_broken(rank)) unsent.clear();
}

absl::Status FrameMesh::wait(int64_t ordinal) {
  const Clock& clock = Clock::real();
  const absl::Duration start = clock.elapsed();
  absl::Duration all_begun = start;
  RETURN_IF_ERROR(connections_.work_on_all([&](int rank) -> absl::StatusOr<short> {
    Peer& peer = peers_[rank];
    send(rank);
    const bool had_begun = has_begun(peer, ordinal);
    // Read before receive(), whose time counts as transfer.
    const absl::Duration now = had_begun ? start : clock.elapsed();
    RETURN_IF_ERROR(receive(rank, ordinal));
    if (!had_begun && has_begun(peer, ordinal)) all_begun = now;
    short events = peer.received < ordinal ? POLLIN : 0;
    // A later message may have to wait until the other rank starts its exchange.
    if (!peer.unsent.empty() && peer.unsent.front().ordinal <= ordinal) events |= POLLOUT;
    return events;
  }));
  awaiting_ranks_ += all_begun - start;
  transferring_ += clock.elapsed() - all_begun;
  exchanges_.erase(ordinal);
  return absl::OkStatus();
}

void FrameMesh::drop(int64_t ordinal) {
  exchanges_.erase(ordinal);
  for (Peer& peer : peers_) {
    for (Outgoing& message : peer.unsent) {
      if (message.ordinal != ordinal) continue;
      message.own_copy = std::string(message.payload);
      message.payload = message.own_copy;
    }
  }
}

absl::Status FrameMesh::receive(int rank, int64_t ordinal) {
  Peer& peer = peers_[rank];
  while (peer.received < ordinal) {
    const bool in_payload = peer.header_read == peer.header.size();
    ASSIGN_OR_RETURN(const size_t count, in_payload ? receive_payload(rank) : receive_header(rank));
    if (count == 0) return absl::OkStatus();
    if (peer.header_read == peer.header.size() && peer.payload_read == peer.payload_size) {
      ++peer.received;
      peer.header_read = 0;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> FrameMesh::receive_header(int rank) {
  Peer& peer = peers_[rank];
  ASSIGN_OR_RETURN(const size_t count,
                   connections_.read(rank, peer.header.data() + peer.header_read,
                                     peer.header.size() - peer.header_read));
  peer.header_read += count;
  if (peer.header_read == peer.header.size()) RETURN_IF_ERROR(begin_message(rank));
  return count;
}

absl::Status FrameMesh::begin_message(int rank) {
  Peer& peer = peers_[rank];
  const int64_t expected = peer.received + 1;
  HeaderFields fields;
  std::memcpy(&fields, peer.header.data(), sizeof(fields));
  if (fields.magic != kMagic || fields.ordinal != expected || fields.bytes > kMostBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("what came from rank ", rank, " instead of its table exchange ", expected,
                     " is no message of a rank (magic ", absl::Hex(fields.magic), ", ordinal ",
                     fields.ordinal, ", ", fields.bytes, " bytes)"));
  }
  peer.payload_size = fields.bytes;
  peer.payload_read = 0;
  ByteBuffer* const buffer = destination(rank);
  if (buffer == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(catch_exceptions([&] {
                    buffer->clear();  // its content is discarded
                    buffer->resize(fields.bytes);
                    return absl::OkStatus();
                  }),
                  absl::StrCat("table exchange ", expected, ": no room for ", fields.bytes,
                               " bytes from rank ", rank));
  return absl::OkStatus();
}

absl::StatusOr<size_t> FrameMesh::receive_payload(int rank) {
  Peer& peer = peers_[rank];
  const size_t left = peer.payload_size - peer.payload_read;
  ByteBuffer* const buffer = destination(rank);
  if (buffer == nullptr && discarded_.empty()) discarded_.resize(kDiscardSize);
  char* const data = buffer == nullptr ? discarded_.data() : buffer->data() + peer.payload_read;
  ASSIGN_OR_RETURN(
      const size_t count,
      connections_.read(rank, data, buffer == nullptr ? std::min(left, kDiscardSize) : left));
  peer.payload_read += count;
  return count;
}

ByteBuffer* FrameMesh::destination(int rank) {
  const auto exchange = exchanges_.find(peers_[rank].received + 1);
  return exchange == exchanges_.end() ? nullptr : &exchange->second[rank];
}

}  // namespace millrace
