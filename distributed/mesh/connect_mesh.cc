#include "distributed/mesh/connect_mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/random/random_hex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr size_t kTokenSize = 32;
constexpr size_t kRankSize = 10;
// Interval between reads of the store.
constexpr absl::Duration kLookInterval = absl::Milliseconds(10);

// A connection whose other side has not identified itself.
struct Stranger {
  Socket socket;
  int expected = -1;  // the rank that this rank connected to; -1: an incoming connection
  std::string said;
};

class MeshBuilder {
 public:
  MeshBuilder(const MeshOptions& options, JobStore& store)
      : options_(options),
        store_(store),
        deadline_(options.timeout),
        greeting_(absl::StrCat("millrace ", options.channel, " ")),
        called_(options.world_size),
        peers_(options.world_size) {}

  absl::StatusOr<std::vector<Socket>> build() {
    RETURN_IF_ERROR(listen());
    while (!missing().empty()) {
      if (deadline_.passed()) return too_late();
      ASSIGN_OR_RETURN(const bool all_called, call_lower_ranks());
      RETURN_IF_ERROR(await_word(all_called ? deadline_ : Deadline(kLookInterval)));
    }
    return std::move(peers_);
  }

 private:
  std::string key(absl::string_view name) const {
    return absl::StrCat("mesh/", options_.channel, "/", name);
  }
  std::string address_key(int rank) const { return key(absl::StrCat("address/", rank)); }

  absl::Status listen() {
    ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, find_addresses(options_.ip, 0));
    ASSIGN_OR_RETURN(listener_, listen_on(addresses[0]));
    ASSIGN_OR_RETURN(SocketAddress address, local_address(listener_));
    ASSIGN_OR_RETURN(token_, store_.set_once(key("token"), random_hex(kTokenSize)));
    return store_.set(address_key(options_.rank), absl::StrCat(address.ip(), " ", address.port()));
  }

  // Connects to the lower ranks whose addresses are known. Returns true if all addresses are known.
  absl::StatusOr<bool> call_lower_ranks() {
    bool all = true;
    for (int rank = 0; rank < options_.rank; ++rank) {
      if (called_[rank]) continue;
      absl::StatusOr<std::optional<std::string>> address = store_.get(address_key(rank));
      if (absl::IsUnavailable(address.status())) return address.status();
      if (address.ok() && address->has_value()) {
        RETURN_IF_ERROR(call(rank, **address));
        called_[rank] = true;
      } else {
        all = false;
      }
    }
    return all;
  }

  absl::Status call(int rank, const std::string& address) {
    const std::vector<std::string> parts = absl::StrSplit(address, ' ');
    int port = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port)) {
      return unreachable(rank, absl::StrCat("its address is \"", address, "\""));
    }
    ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, find_addresses(parts[0], port));
    absl::StatusOr<Socket> socket = connect_to(addresses[0], deadline_);
    if (!socket.ok()) return unreachable(rank, absl::string_view(socket.status().message()));
    say_hello(*socket);
    strangers_.push_back({*std::move(socket), rank, ""});
    return absl::OkStatus();
  }

  // Waits for a new connection or for data, and answers.
  absl::Status await_word(const Deadline& until) {
    std::vector<pollfd> wanted = {{listener_.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_) {
      wanted.push_back({stranger.socket.get(), POLLIN, 0});
    }
    if (poll_until(absl::MakeSpan(wanted), until) <= 0) return absl::OkStatus();
    size_t next = 1;
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
      if (wanted[next++].revents == 0) {
        ++stranger;
        continue;
      }
      ASSIGN_OR_RETURN(const bool done, listen_to(*stranger));
      stranger = done ? strangers_.erase(stranger) : std::next(stranger);
    }
    return wanted[0].revents == 0 ? absl::OkStatus() : let_in();
  }

  absl::Status let_in() {
    absl::StatusOr<Socket> socket = accept_from(listener_, Deadline(absl::ZeroDuration()));
    if (absl::IsDeadlineExceeded(socket.status())) return absl::OkStatus();  // it left at once
    RETURN_IF_ERROR(socket.status());
    strangers_.push_back({*std::move(socket), -1, ""});
    return absl::OkStatus();
  }

  // Reads from a stranger. Returns true if it has become a peer or is dropped.
  absl::StatusOr<bool> listen_to(Stranger& stranger) {
    std::string bytes(hello_size() - stranger.said.size(), '\0');
    // Reads no byte beyond the hello: later bytes are for the user of the connection.
    const ssize_t count = recv(stranger.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count > 0) {
      stranger.said.append(bytes.data(), static_cast<size_t>(count));
      const std::string known = secret();
      const bool knows = absl::StartsWith(known, stranger.said.substr(0, known.size()));
      if (knows && stranger.said.size() < hello_size()) return false;
      int rank = -1;
      if (knows && absl::SimpleAtoi(stranger.said.substr(known.size()), &rank) &&
          is_expected(rank, stranger)) {
        if (stranger.expected < 0) say_hello(stranger.socket);
        peers_[rank] = std::move(stranger.socket);
        return true;
      }
    }
    if (stranger.expected < 0) return true;
    return unreachable(stranger.expected, "it closed the connection, or is somebody else");
  }

  bool is_expected(int rank, const Stranger& stranger) const {
    if (stranger.expected >= 0) return rank == stranger.expected;
    return rank > options_.rank && rank < options_.world_size && peers_[rank].get() < 0;
  }

  // Returns the beginning of a hello; the rank follows.
  std::string secret() const { return absl::StrCat(greeting_, token_); }
  size_t hello_size() const { return greeting_.size() + kTokenSize + kRankSize; }

  // Sends a hello, which always fits into a new connection's buffer.
  void say_hello(const Socket& socket) const {
    const std::string hello = absl::StrCat(secret(), absl::Dec(options_.rank, absl::kZeroPad10));
    send(socket.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.world_size; ++rank) {
      if (rank != options_.rank && peers_[rank].get() < 0) ranks.push_back(rank);
    }
    return ranks;
  }

  absl::Status unreachable(int rank, absl::string_view why) const {
    return absl::AbortedError(absl::StrCat("rank ", options_.rank, " could not connect to rank ",
                                           rank, ", though all came: ", why));
  }

  absl::Status too_late() const {
    return absl::AbortedError(absl::StrCat(
        "rank ", options_.rank, " could not connect to rank ", absl::StrJoin(missing(), ", "),
        " within ", absl::FormatDuration(options_.timeout), ", though all came"));
  }

  const MeshOptions& options_;
  JobStore& store_;
  const Deadline deadline_;
  const std::string greeting_;
  std::string token_;
  Socket listener_;
  std::vector<bool> called_;   // by rank
  std::vector<Socket> peers_;  // by rank
  std::list<Stranger> strangers_;
};

}  // namespace

absl::StatusOr<std::vector<Socket>> connect_mesh(const MeshOptions& options, JobStore& store) {
  return MeshBuilder(options, store).build();
}

}  // namespace millrace
