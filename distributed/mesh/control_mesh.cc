#include "distributed/mesh/control_mesh.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// The beginning of a message.
struct Header {
  uint64_t ordinal = 0;
  uint64_t count = 0;
};

constexpr size_t kReadSize = 64 << 10;
// Limit of valid counts of sums that this rank has not started, above the size of any real sum. No
// memory is reserved for them: a peer is read until its message of the awaited sum is complete.
constexpr uint64_t kMostValues = uint64_t{1} << 30;

absl::Status different_counts(int rank, uint64_t count, int other, uint64_t others_count,
                              int64_t ordinal) {
  return absl::FailedPreconditionError(absl::StrCat("exchange ", ordinal, " is of ", count,
                                                    " integers on rank ", rank, " and of ",
                                                    others_count, " on rank ", other));
}

void add(absl::Span<const int64_t> addends, absl::Span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<int64_t>(static_cast<uint64_t>(values[i]) + static_cast<uint64_t>(addends[i]));
  }
}

}  // namespace

ControlMesh::ControlMesh(int rank, std::vector<Socket> peers)
    : connections_("control", rank, std::move(peers)),
      peers_(connections_.world_size()),
      scratch_(kReadSize, '\0') {}

void ControlMesh::send(int rank) {
  std::string& unsent = peers_[rank].unsent;
  size_t sent = 0;
  while (sent < unsent.size()) {
    const size_t count = connections_.write(rank, absl::string_view(unsent).substr(sent));
    if (count == 0) break;
    sent += count;
  }
  unsent.erase(0, connections_.is_broken(rank) ? unsent.size() : sent);
}

void ControlMesh::start(int64_t ordinal, absl::Span<const int64_t> values) {
  started_ = ordinal;
  Sum& sum = sums_[ordinal];
  sum.started = true;
  sum.count = values.size();
  largest_count_ = std::max(largest_count_, sum.count);
  const Header header = {static_cast<uint64_t>(ordinal), values.size()};
  std::string message(reinterpret_cast<const char*>(&header), sizeof(header));
  message.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (rank == connections_.rank()) continue;
    peers_[rank].unsent += message;
    send(rank);
  }
}

absl::Status ControlMesh::wait(int64_t ordinal, absl::Span<int64_t> values) {
  ASSIGN_OR_RETURN(const std::vector<Message> messages, take(ordinal, values.size()));
  for (const Message& message : messages) add(message.values, values);
  return absl::OkStatus();
}

absl::Status ControlMesh::wait(int64_t ordinal, absl::Span<double> values) {
  ASSIGN_OR_RETURN(std::vector<Message> messages, take(ordinal, values.size()));
  Message own;
  for (const double value : values) own.values.push_back(absl::bit_cast<int64_t>(value));
  messages.insert(messages.begin() + connections_.rank(), std::move(own));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = absl::bit_cast<double>(messages[0].values[i]);  // 0 + -0.0 would be another zero
    for (size_t rank = 1; rank < messages.size(); ++rank) {
      values[i] += absl::bit_cast<double>(messages[rank].values[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ControlMesh::Message>> ControlMesh::take(int64_t ordinal, size_t count) {
  RETURN_IF_ERROR(connections_.work_on_all([&](int rank) -> absl::StatusOr<short> {
    const Peer& peer = peers_[rank];
    send(rank);
    RETURN_IF_ERROR(receive(rank, ordinal));
    short events = peer.received < ordinal ? POLLIN : 0;
    if (!peer.unsent.empty()) events |= POLLOUT;
    return events;
  }));
  std::vector<Message> messages = std::move(sums_.at(ordinal).messages);
  sums_.erase(ordinal);
  for (const Message& message : messages) {
    // Checks messages that came before the rank started the sum.
    if (message.values.size() != count) {
      return different_counts(connections_.rank(), count, message.rank, message.values.size(),
                              ordinal);
    }
  }
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return a.rank < b.rank; });
  return messages;
}

void ControlMesh::drop(int64_t ordinal) { sums_.erase(ordinal); }

absl::Status ControlMesh::receive(int rank, int64_t ordinal) {
  Peer& peer = peers_[rank];
  while (peer.received < ordinal) {
    ASSIGN_OR_RETURN(const size_t count, connections_.read(rank, scratch_.data(), scratch_.size()));
    if (count == 0) return absl::OkStatus();
    peer.input.append(scratch_.data(), count);
    RETURN_IF_ERROR(take_messages(rank));
  }
  return absl::OkStatus();
}

absl::Status ControlMesh::take_messages(int rank) {
  Peer& peer = peers_[rank];
  size_t taken = 0;
  while (peer.input.size() - taken >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, &peer.input[taken], sizeof(header));
    RETURN_IF_ERROR(check_header(rank, header.ordinal, header.count));
    const size_t size = header.count * sizeof(int64_t);
    if (peer.input.size() - taken - sizeof(header) < size) break;
    ++peer.received;
    if (peer.received > started_ || sums_.count(peer.received) > 0) {
      std::vector<int64_t> values(header.count);
      if (size > 0) std::memcpy(values.data(), &peer.input[taken + sizeof(header)], size);
      sums_[peer.received].messages.push_back({rank, std::move(values)});
    }
    taken += sizeof(header) + size;
  }
  peer.input.erase(0, taken);
  return absl::OkStatus();
}

absl::Status ControlMesh::check_header(int rank, uint64_t ordinal, uint64_t count) const {
  const int64_t expected = peers_[rank].received + 1;
  const auto sum = sums_.find(expected);
  const bool waits = sum != sums_.end() && sum->second.started;
  // A sum that this rank has dropped is not longer than its longest one.
  const uint64_t most = waits || expected > started_ ? kMostValues : largest_count_;
  if (ordinal != expected || count > most) {
    return absl::FailedPreconditionError(
        absl::StrCat("what came from rank ", rank, " instead of its exchange ", expected,
                     " is no message of a rank (ordinal ", ordinal, ", ", count, " integers)"));
  }
  if (waits && sum->second.count != count) {
    return different_counts(connections_.rank(), sum->second.count, rank, count, expected);
  }
  return absl::OkStatus();
}

}  // namespace millrace
