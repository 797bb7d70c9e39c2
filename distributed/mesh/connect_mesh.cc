#include "distributed/mesh/connect_mesh.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/random/random_hex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr size_t kTokenSize = 32;
constexpr size_t kRankSize = 10;
// Longest wait without a call of MeshOptions::interrupted.
constexpr absl::Duration kLongestWait = absl::Milliseconds(100);
// Interval between calls of a rank while the network fails.
constexpr absl::Duration kCallInterval = absl::Milliseconds(500);

// A connection whose other side has not identified itself.
struct Stranger {
  Socket socket;
  int expected = -1;        // the rank that this rank connects to; -1: an incoming connection
  bool connecting = false;  // to `expected`
  std::string said;
};

// A lower rank, to which this rank connects.
struct LowerRank {
  std::optional<SocketAddress> address;  // none: not known yet
  bool called = false;                   // connecting or connected
  absl::Duration next_call = absl::ZeroDuration();
  std::string problem;
};

class MeshBuilder {
 public:
  MeshBuilder(const MeshOptions& options, JobStore& store)
      : options_(options),
        store_(store),
        deadline_(options.timeout),
        // Ranks of large jobs look less often, so that the store has time to answer.
        look_interval_(
            std::max(absl::Milliseconds(10), absl::Milliseconds(0.5) * options.world_size)),
        greeting_(absl::StrCat("millrace ", options.channel, " ")),
        lower_ranks_(options.rank),
        peers_(options.world_size) {}

  absl::StatusOr<std::vector<Socket>> build() {
    RETURN_IF_ERROR(listen());
    while (!missing().empty()) {
      if (options_.interrupted) RETURN_IF_ERROR(options_.interrupted());
      if (deadline_.passed()) return too_late();
      ASSIGN_OR_RETURN(const bool all_known, look_for_addresses());
      RETURN_IF_ERROR(call_lower_ranks());
      RETURN_IF_ERROR(await_word(all_known ? kLongestWait : look_interval_));
    }
    for (const Socket& peer : peers_) {
      if (peer.get() >= 0) detect_loss(peer.get(), options_.loss_limit);
    }
    return std::move(peers_);
  }

 private:
  static absl::Duration now() { return Clock::real().elapsed(); }

  std::string key(absl::string_view name) const {
    return absl::StrCat("mesh/", options_.channel, "/", name);
  }
  std::string address_key(int rank) const { return key(absl::StrCat("address/", rank)); }

  absl::Status listen() {
    ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, find_addresses(options_.ip, 0));
    ASSIGN_OR_RETURN(listener_, listen_on(addresses[0]));
    ASSIGN_OR_RETURN(SocketAddress address, local_address(listener_));
    RETURN_IF_ERROR(await_store([&]() -> absl::Status {
      ASSIGN_OR_RETURN(token_, store_.set_once(key("token"), random_hex(kTokenSize)));
      return absl::OkStatus();
    }));
    return await_store([&] {
      return store_.set(address_key(options_.rank),
                        absl::StrCat(address.ip(), " ", address.port()));
    });
  }

  // Repeats a call of the store until the store answers.
  absl::Status await_store(absl::FunctionRef<absl::Status()> call) {
    for (;;) {
      absl::Status status = call();
      if (!absl::IsDeadlineExceeded(status) || deadline_.passed()) return status;
      if (options_.interrupted) RETURN_IF_ERROR(options_.interrupted());
      Clock::real().sleep(kLongestWait);
    }
  }

  // Reads the addresses of lower ranks, all at once if all are there, else of one rank, so that a
  // rank that is late delays no other one. Returns true if all are known.
  absl::StatusOr<bool> look_for_addresses() {
    std::vector<int> ranks;
    std::vector<std::string> keys;
    for (int rank = 0; rank < options_.rank; ++rank) {
      if (lower_ranks_[rank].address) continue;
      ranks.push_back(rank);
      keys.push_back(address_key(rank));
    }
    if (ranks.empty()) return true;
    if (now() < next_look_) return false;
    next_look_ = now() + look_interval_;
    absl::StatusOr<std::optional<std::vector<std::string>>> found = store_.find_all(keys);
    if (found.ok() && !found->has_value()) {
      ranks = {ranks[looks_++ % ranks.size()]};
      found = store_.find_all({address_key(ranks[0])});
    }
    // A store that does not answer is asked again.
    if (!found.ok() && !absl::IsDeadlineExceeded(found.status())) return found.status();
    if (!found.ok() || !found->has_value()) return false;
    for (size_t i = 0; i < ranks.size(); ++i) {
      RETURN_IF_ERROR(note_address(ranks[i], (**found)[i]));
    }
    return ranks.size() == keys.size();
  }

  absl::Status note_address(int rank, const std::string& text) {
    const std::vector<std::string> parts = absl::StrSplit(text, ' ');
    int port = 0;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[1], &port)) {
      return unreachable(rank, absl::StrCat("its address is \"", text, "\""));
    }
    ASSIGN_OR_RETURN(std::vector<SocketAddress> addresses, find_addresses(parts[0], port));
    lower_ranks_[rank].address = addresses[0];
    return absl::OkStatus();
  }

  // Begins to connect to all lower ranks whose addresses are known, without waiting for any.
  absl::Status call_lower_ranks() {
    for (int rank = 0; rank < options_.rank; ++rank) {
      LowerRank& lower = lower_ranks_[rank];
      if (!lower.address || lower.called || now() < lower.next_call) continue;
      lower.called = true;
      lower.next_call = now() + kCallInterval;
      absl::StatusOr<Socket> socket = begin_to_connect(*lower.address);
      if (socket.ok()) {
        strangers_.push_back({*std::move(socket), rank, /*connecting=*/true, ""});
      } else {
        RETURN_IF_ERROR(call_failed(rank, socket.status()));
      }
    }
    return absl::OkStatus();
  }

  // A refusal ends the call of connect_mesh(): the process of the rank has ended. Any other error
  // may pass.
  absl::Status call_failed(int rank, const absl::Status& status) {
    if (absl::IsUnavailable(status)) {
      return unreachable(rank, absl::string_view(status.message()));
    }
    lower_ranks_[rank].problem = std::string(status.message());
    lower_ranks_[rank].called = false;
    return absl::OkStatus();
  }

  // Waits for a new connection or for data, at most for `longest`, and answers.
  absl::Status await_word(absl::Duration longest) {
    std::vector<pollfd> wanted = {{listener_.get(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_) {
      const short event = stranger.connecting ? POLLOUT : POLLIN;
      wanted.push_back({stranger.socket.get(), event, 0});
    }
    const Deadline until(std::min(longest, deadline_.left()));
    if (poll_until(absl::MakeSpan(wanted), until) <= 0) return absl::OkStatus();
    size_t next = 1;
    for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
      if (wanted[next++].revents == 0) {
        ++stranger;
        continue;
      }
      ASSIGN_OR_RETURN(const bool done,
                       stranger->connecting ? end_call(*stranger) : listen_to(*stranger));
      stranger = done ? strangers_.erase(stranger) : std::next(stranger);
    }
    return wanted[0].revents == 0 ? absl::OkStatus() : let_in();
  }

  absl::Status let_in() {
    absl::StatusOr<Socket> socket = accept_from(listener_, Deadline(absl::ZeroDuration()));
    if (socket.ok()) {
      strangers_.push_back({*std::move(socket), -1, /*connecting=*/false, ""});
      return absl::OkStatus();
    }
    if (absl::IsDeadlineExceeded(socket.status())) return absl::OkStatus();  // it left at once
    // No descriptor is free. Of the connections that have said nothing, the oldest one is the least
    // likely to be of a rank.
    problem_ = std::string(socket.status().message());
    const auto oldest = std::find_if(strangers_.begin(), strangers_.end(),
                                     [](const Stranger& other) { return other.expected < 0; });
    if (oldest == strangers_.end()) {
      Clock::real().sleep(look_interval_);
    } else {
      strangers_.erase(oldest);
    }
    return absl::OkStatus();
  }

  // Goes on with a connection to a lower rank, once it is made or has failed. Returns true if it
  // has failed.
  absl::StatusOr<bool> end_call(Stranger& stranger) {
    LowerRank& lower = lower_ranks_[stranger.expected];
    const absl::Status status = end_of_connecting(stranger.socket, *lower.address);
    if (!status.ok()) {
      RETURN_IF_ERROR(call_failed(stranger.expected, status));
      return true;
    }
    stranger.connecting = false;
    lower.problem = absl::StrCat("no answer from ", lower.address->text());
    say_hello(stranger.socket, stranger.expected);
    return false;
  }

  // Reads from a stranger. Returns true if it has become a peer or is dropped.
  absl::StatusOr<bool> listen_to(Stranger& stranger) {
    std::string bytes(hello_size() - stranger.said.size(), '\0');
    // Reads no byte beyond the hello: later bytes are for the user of the connection.
    const ssize_t count = recv(stranger.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count > 0) {
      stranger.said.append(bytes.data(), static_cast<size_t>(count));
      // A proof is known only when the rank is, which comes last.
      const std::string known = options_.prove ? greeting_ : absl::StrCat(greeting_, token_);
      const bool knows = absl::StartsWith(known, stranger.said.substr(0, known.size()));
      if (knows && stranger.said.size() < hello_size()) return false;
      int rank = -1;
      if (knows && absl::SimpleAtoi(stranger.said.substr(hello_size() - kRankSize), &rank) &&
          is_expected(rank, stranger) && stranger.said == hello(rank, options_.rank)) {
        if (stranger.expected < 0) say_hello(stranger.socket, rank);
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

  // Returns the hello of rank `from` to rank `to`.
  std::string hello(int from, int to) const {
    const std::string word =
        options_.prove ? options_.prove(absl::StrCat(greeting_, token_, " ", from, " ", to))
                       : token_;
    return absl::StrCat(greeting_, word, absl::Dec(from, absl::kZeroPad10));
  }
  size_t hello_size() const { return greeting_.size() + kTokenSize + kRankSize; }

  // Sends a hello, which always fits into a new connection's buffer.
  void say_hello(const Socket& socket, int to) const {
    const std::string text = hello(options_.rank, to);
    send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.world_size; ++rank) {
      if (rank != options_.rank && peers_[rank].get() < 0) ranks.push_back(rank);
    }
    return ranks;
  }

  absl::Status unreachable(int rank, absl::string_view why) const {
    if (options_.refused) options_.refused(rank);
    return absl::AbortedError(
        absl::StrCat("could not connect to rank ", rank, ", though all came: ", why));
  }

  // Names the ranks that are not connected, and why the first lower one is not.
  absl::Status too_late() const {
    std::string text =
        absl::StrCat("could not connect to rank ", absl::StrJoin(missing(), ", "), " within ",
                     absl::FormatDuration(options_.timeout), ", though all came");
    for (const int rank : missing()) {
      if (rank > options_.rank || !lower_ranks_[rank].address) continue;
      const LowerRank& lower = lower_ranks_[rank];
      absl::StrAppend(&text, "; rank ", rank, ": ",
                      lower.problem.empty()
                          ? absl::StrCat("nobody answers at ", lower.address->text())
                          : lower.problem);
      break;
    }
    if (!problem_.empty()) absl::StrAppend(&text, "; ", problem_);
    return absl::AbortedError(text);
  }

  const MeshOptions& options_;
  JobStore& store_;
  const Deadline deadline_;
  const absl::Duration look_interval_;
  const std::string greeting_;
  std::string token_;
  Socket listener_;
  absl::Duration next_look_ = absl::ZeroDuration();
  int looks_ = 0;                       // for the address of one rank
  std::vector<LowerRank> lower_ranks_;  // by rank
  std::vector<Socket> peers_;           // by rank
  std::list<Stranger> strangers_;
  std::string problem_;  // of the listener
};

}  // namespace

absl::StatusOr<std::vector<Socket>> connect_mesh(const MeshOptions& options, JobStore& store) {
  return MeshBuilder(options, store).build();
}

}  // namespace millrace
