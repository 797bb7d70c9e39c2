#include "distributed/mesh/peer_connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

PeerConnections::PeerConnections(absl::string_view channel, int rank, std::vector<Socket> sockets)
    : channel_(channel), rank_(rank), peers_(sockets.size()) {
  for (size_t i = 0; i < sockets.size(); ++i) {
    if (i != rank) peers_[i].socket = std::move(sockets[i]);
  }
}

PeerConnections::~PeerConnections() {
  // Closing a connection with unread data would discard data on its way to the other side.
  std::string scratch(64 << 10, '\0');
  for (Peer& peer : peers_) {
    shutdown(peer.socket.get(), SHUT_WR);
    while (recv(peer.socket.get(), scratch.data(), scratch.size(), MSG_DONTWAIT) > 0) {
    }
  }
}

absl::Status PeerConnections::closed(int peer, absl::string_view why) const {
  return absl::UnavailableError(
      absl::StrCat("the ", channel_, " connection to rank ", peer, " is closed: ", why));
}

size_t PeerConnections::write(int peer, absl::string_view first, absl::string_view second) {
  if (is_broken(peer)) return 0;
  iovec parts[2] = {{const_cast<char*>(first.data()), first.size()},
                    {const_cast<char*>(second.data()), second.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = second.empty() ? 1 : 2;
  for (;;) {
    const ssize_t count = sendmsg(peers_[peer].socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno == EINTR) continue;
    peers_[peer].broken = std::strerror(errno);
    return 0;
  }
}

absl::StatusOr<size_t> PeerConnections::read(int peer, char* data, size_t size) {
  const std::string& broken = peers_[peer].broken;
  for (;;) {
    const ssize_t count = recv(peers_[peer].socket.get(), data, size, MSG_DONTWAIT);
    if (count > 0) return static_cast<size_t>(count);
    if (count == 0) return closed(peer, broken.empty() ? "by the other side" : broken);
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return closed(peer, std::strerror(errno));
    if (!broken.empty()) return closed(peer, broken);
    return size_t{0};
  }
}

absl::Status PeerConnections::work_on_all(Work work) {
  std::vector<int> ranks;
  std::vector<pollfd> wanted;
  for (int i = 1; i < world_size(); ++i) {
    // Ranks begin with different peers. Each peer is served once before the first wait.
    ranks.push_back((rank_ + i) % world_size());
    wanted.push_back({peers_[ranks.back()].socket.get(), 0, /*revents=*/POLLIN});
  }
  for (;;) {
    size_t kept = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (wanted[i].revents != 0) {
        ASSIGN_OR_RETURN(wanted[i].events, work(ranks[i]));
      }
      if (wanted[i].events == 0) continue;
      ranks[kept] = ranks[i];
      wanted[kept] = wanted[i];
      wanted[kept++].revents = 0;
    }
    ranks.resize(kept);
    wanted.resize(kept);
    if (kept == 0) return absl::OkStatus();
    if (poll_until(absl::MakeSpan(wanted), Deadline::never()) < 0) {
      return absl::UnavailableError(absl::StrCat("poll: ", std::strerror(errno)));
    }
  }
}

void PeerConnections::shut_down() {
  for (const Peer& peer : peers_) shutdown(peer.socket.get(), SHUT_RDWR);
}

bool PeerConnections::lost(int peer) const {
  return poll_until(peers_[peer].socket.get(), POLLRDHUP, Deadline(absl::ZeroDuration()));
}

absl::Duration PeerConnections::silence(int peer) const {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(peers_[peer].socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return absl::ZeroDuration();
  }
  return absl::Milliseconds(info.tcpi_last_ack_recv);
}

}  // namespace millrace
