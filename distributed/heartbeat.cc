#include "distributed/heartbeat.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {
namespace {

constexpr size_t kFields = 9;  // of a heartbeat's text, without the host
constexpr int64_t kMaxSignal = 64;

}  // namespace

std::string beat_key(int rank) { return absl::StrCat("beat/", rank); }

std::string format_heartbeat(const Heartbeat& heartbeat) {
  static_assert(kChannels == 3);
  return absl::StrCat(heartbeat.beat, " ", static_cast<int>(heartbeat.phase), " ", heartbeat.step,
                      " ", absl::StrJoin(heartbeat.started, " "), " ", heartbeat.left ? 1 : 0, " ",
                      heartbeat.knows_failure ? 1 : 0, " ", heartbeat.stop_signal,
                      heartbeat.host.empty() ? "" : " ", heartbeat.host);
}

std::optional<Heartbeat> parse_heartbeat(absl::string_view text) {
  const std::vector<absl::string_view> fields = absl::StrSplit(text, ' ');
  if (fields.size() != kFields && fields.size() != kFields + 1) return std::nullopt;
  int64_t values[kFields];
  for (size_t i = 0; i < kFields; ++i) {
    if (!absl::SimpleAtoi(fields[i], &values[i])) return std::nullopt;
  }
  if (values[8] < 0 || values[8] > kMaxSignal) return std::nullopt;
  if (values[1] < 0 || values[1] > static_cast<int>(RankPhase::kEnd)) return std::nullopt;
  return Heartbeat{.beat = values[0],
                   .phase = static_cast<RankPhase>(values[1]),
                   .step = values[2],
                   .started = {values[3], values[4], values[5]},
                   .left = values[6] != 0,
                   .knows_failure = values[7] != 0,
                   .stop_signal = static_cast<int>(values[8]),
                   .host = std::string(fields.size() > kFields ? fields[kFields] : "")};
}

PeerWatch::PeerWatch(int rank, int world_size, absl::Duration longest_step, std::string host)
    : rank_(rank), longest_step_(longest_step), host_(std::move(host)), peers_(world_size) {}

void PeerWatch::pass_time(Peer& peer, absl::Duration now) {
  if (peer.known) peer.silence += std::min(now - peer.observed, longest_step_);
  peer.known = true;
  peer.observed = now;
}

void PeerWatch::observe(int peer, const Heartbeat& heartbeat, absl::Duration now) {
  Peer& entry = peers_[peer];
  const bool changed = !entry.known || heartbeat != entry.last;
  pass_time(entry, now);
  if (!changed) return;
  entry.last = heartbeat;
  entry.silence = absl::ZeroDuration();
}

void PeerWatch::observe_nothing(int peer, absl::Duration now) { pass_time(peers_[peer], now); }

std::vector<int> PeerWatch::silent(absl::Duration limit) const {
  std::vector<int> found;
  for (int peer = 0; peer < peers_.size(); ++peer) {
    if (peer != rank_ && !peers_[peer].last.left && peers_[peer].silence >= limit) {
      found.push_back(peer);
    }
  }
  return found;
}

std::optional<int> PeerWatch::left() const {
  for (int peer = 0; peer < peers_.size(); ++peer) {
    if (peer != rank_ && peers_[peer].last.left) return peer;
  }
  return std::nullopt;
}

int PeerWatch::stop_signal() const {
  for (int peer = 0; peer < peers_.size(); ++peer) {
    if (peer != rank_ && peers_[peer].last.stop_signal != 0) return peers_[peer].last.stop_signal;
  }
  return 0;
}

std::vector<int> PeerWatch::absent(Channel channel, int64_t ordinal) const {
  std::vector<int> found;
  int64_t fewest = ordinal;
  for (int peer = 0; peer < peers_.size(); ++peer) {
    const int64_t started = peers_[peer].last.started[static_cast<int>(channel)];
    if (peer == rank_ || started >= ordinal || started > fewest) continue;
    if (started < fewest) found.clear();
    fewest = started;
    found.push_back(peer);
  }
  return found;
}

std::string PeerWatch::name(int rank) const {
  const auto elsewhere = [this](const Peer& peer) {
    return !peer.last.host.empty() && peer.last.host != host_;
  };
  const std::string& host = rank == rank_ ? host_ : peers_[rank].last.host;
  const bool several =
      !host_.empty() && std::any_of(peers_.begin(), peers_.end(), elsewhere) && !host.empty();
  return several ? absl::StrCat("rank ", rank, " on ", host) : absl::StrCat("rank ", rank);
}

absl::Status PeerWatch::error_of(int rank, RankPhase phase, int64_t step,
                                 absl::string_view what) const {
  return absl::AbortedError(absl::StrCat(name(rank), " failed in ", rank_phase_name(phase),
                                         " of step ", step, ": ", what));
}

absl::Status PeerWatch::blame(const std::vector<int>& peers, absl::string_view what) const {
  const Heartbeat& first = peers_[peers[0]].last;
  std::string text(what);
  constexpr int kMostNamed = 8;
  for (int i = 1; i < std::min<int>(peers.size(), kMostNamed); ++i) {
    const Heartbeat& other = peers_[peers[i]].last;
    absl::StrAppend(&text, "; likewise ", name(peers[i]), " in ", rank_phase_name(other.phase),
                    " of step ", other.step);
  }
  if (peers.size() > kMostNamed) {
    absl::StrAppend(&text, "; and ", peers.size() - kMostNamed, " more ranks");
  }
  return error_of(peers[0], first.phase, first.step, text);
}

}  // namespace millrace
