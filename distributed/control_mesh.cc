#include "distributed/control_mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// What a message begins with.
struct Header {
  uint64_t ordinal = 0;
  uint64_t count = 0;
};

constexpr size_t kReadSize = 64 << 10;
// Nobody sums so many integers.
constexpr uint64_t kMostValues = uint64_t{1} << 30;

absl::Status different_counts(int rank, uint64_t count, int other, uint64_t others_count,
                              int64_t ordinal) {
  return absl::FailedPreconditionError(absl::StrCat("exchange ", ordinal, " is of ", count,
                                                    " integers on rank ", rank, " and of ",
                                                    others_count, " on rank ", other));
}

absl::Status closed(int rank, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("the control connection to rank ", rank, " is closed: ", why));
}

void add(absl::Span<const int64_t> addends, absl::Span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<int64_t>(static_cast<uint64_t>(values[i]) + static_cast<uint64_t>(addends[i]));
  }
}

}  // namespace

ControlMesh::ControlMesh(int rank, std::vector<Socket> peers)
    : rank_(rank), peers_(peers.size()), scratch_(kReadSize, '\0') {
  for (size_t i = 0; i < peers.size(); ++i) {
    if (i != rank) peers_[i].socket = std::move(peers[i]);
  }
}

ControlMesh::~ControlMesh() {
  // A connection that is closed with something unread in it takes along what is still on its way to
  // the other side.
  for (Peer& peer : peers_) {
    shutdown(peer.socket.get(), SHUT_WR);
    while (recv(peer.socket.get(), scratch_.data(), scratch_.size(), MSG_DONTWAIT) > 0) {
    }
  }
}

void ControlMesh::send(Peer& peer, absl::string_view bytes) {
  if (!peer.broken.empty()) return;
  while (!bytes.empty()) {
    const ssize_t count =
        ::send(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      // What the rank sent before may still be there to be read.
      peer.broken = std::strerror(errno);
      return;
    }
  }
  peer.unsent.append(bytes.data(), bytes.size());
}

void ControlMesh::flush(Peer& peer) {
  if (peer.unsent.empty()) return;
  std::string bytes;
  bytes.swap(peer.unsent);
  send(peer, bytes);
}

void ControlMesh::start(int64_t ordinal, absl::Span<const int64_t> values) {
  started_ = ordinal;
  Sum& sum = sums_[ordinal];
  sum.started = true;
  sum.count = values.size();
  const Header header = {static_cast<uint64_t>(ordinal), values.size()};
  std::string message(reinterpret_cast<const char*>(&header), sizeof(header));
  message.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t));
  for (int rank = 0; rank < peers_.size(); ++rank) {
    if (rank == rank_) continue;
    Peer& peer = peers_[rank];
    flush(peer);
    if (peer.unsent.empty()) {
      send(peer, message);
    } else {
      peer.unsent += message;
    }
  }
}

absl::Status ControlMesh::wait(int64_t ordinal, absl::Span<int64_t> values) {
  RETURN_IF_ERROR(exchange(ordinal));
  const Sum& sum = sums_.at(ordinal);
  for (const Message& message : sum.messages) {
    // One that came before this rank started.
    if (message.values.size() != values.size()) {
      return different_counts(rank_, values.size(), message.rank, message.values.size(), ordinal);
    }
  }
  for (const Message& message : sum.messages) add(message.values, values);
  sums_.erase(ordinal);
  return absl::OkStatus();
}

void ControlMesh::drop(int64_t ordinal) { sums_.erase(ordinal); }

absl::Status ControlMesh::exchange(int64_t ordinal) {
  std::vector<pollfd> wanted;
  for (;;) {
    wanted.clear();
    for (int rank = 0; rank < peers_.size(); ++rank) {
      if (rank == rank_) continue;
      Peer& peer = peers_[rank];
      flush(peer);
      if (peer.received < ordinal) RETURN_IF_ERROR(receive(rank, ordinal));
      short events = peer.received < ordinal ? POLLIN : 0;
      if (!peer.unsent.empty()) events |= POLLOUT;
      if (events != 0) wanted.push_back({peer.socket.get(), events, 0});
    }
    if (wanted.empty()) return absl::OkStatus();
    if (poll(wanted.data(), wanted.size(), /*timeout=*/-1) < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat("poll: ", std::strerror(errno)));
    }
  }
}

absl::Status ControlMesh::receive(int rank, int64_t ordinal) {
  Peer& peer = peers_[rank];
  while (peer.received < ordinal) {
    const ssize_t count = recv(peer.socket.get(), scratch_.data(), scratch_.size(), MSG_DONTWAIT);
    if (count > 0) {
      peer.input.append(scratch_.data(), static_cast<size_t>(count));
      RETURN_IF_ERROR(take_messages(rank));
    } else if (count == 0) {
      return closed(rank, peer.broken.empty() ? "by the other side" : peer.broken);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return peer.broken.empty() ? absl::OkStatus() : closed(rank, peer.broken);
    } else if (errno != EINTR) {
      return closed(rank, std::strerror(errno));
    }
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
  if (ordinal != expected || count > kMostValues) {
    return absl::FailedPreconditionError(
        absl::StrCat("what came from rank ", rank, " instead of its exchange ", expected,
                     " is no message of a rank (ordinal ", ordinal, ", ", count, " integers)"));
  }
  const auto sum = sums_.find(expected);
  if (sum != sums_.end() && sum->second.started && sum->second.count != count) {
    return different_counts(rank_, sum->second.count, rank, count, expected);
  }
  return absl::OkStatus();
}

void ControlMesh::shut_down() {
  for (const Peer& peer : peers_) shutdown(peer.socket.get(), SHUT_RDWR);
}

bool ControlMesh::lost(int rank) const {
  pollfd peer = {peers_[rank].socket.get(), POLLRDHUP, 0};
  return poll(&peer, 1, /*timeout=*/0) > 0;
}

}  // namespace millrace
