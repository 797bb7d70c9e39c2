// The heartbeats and the failure of ranks in the store, and the conclusions of other ranks.
#ifndef MILLRACE_DISTRIBUTED_HEARTBEAT_H_
#define MILLRACE_DISTRIBUTED_HEARTBEAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"

namespace millrace {

// A sign of life. `beat` changes in each heartbeat, and begins again after the rendezvous; a rank
// with a constant heartbeat is dead or frozen.
struct Heartbeat {
  int64_t beat = 0;
  RankPhase phase = RankPhase::kRendezvous;
  int64_t step = 0;
  int64_t started[kChannels] = {};  // number of collectives started so far, by Channel
  bool left = false;                // if true, the rank destroyed its Collectives
  bool knows_failure = false;       // if true, the rank knows that the job cannot continue
  int stop_signal = 0;              // the signal that requests the rank to stop; 0: none
  std::string host;                 // the name of the rank's machine, without spaces; "": unknown

  bool operator==(const Heartbeat&) const = default;
};

// The key of the first failure of the job, as text.
inline constexpr char kFailureKey[] = "failure";
// Returns the key of the heartbeat of a rank.
std::string beat_key(int rank);

std::string format_heartbeat(const Heartbeat& heartbeat);
// Returns none if `text` is not a heartbeat.
std::optional<Heartbeat> parse_heartbeat(absl::string_view text);

// One rank's knowledge of the others. Time is any steady time. Thread-compatible.
class PeerWatch {
 public:
  // An interval of time counts at most as `longest_step`: a rank that was frozen itself must not
  // conclude that the others were.
  // `host`: the machine of this rank; "": messages name no machines.
  PeerWatch(int rank, int world_size, absl::Duration longest_step, std::string host = "");

  void observe(int peer, const Heartbeat& heartbeat, absl::Duration now);
  // Records a failed attempt to read the heartbeat of `peer`.
  void observe_nothing(int peer, absl::Duration now);

  const Heartbeat& last(int peer) const { return peers_[peer].last; }
  // Returns how long the heartbeat of `peer` has been constant during observation.
  absl::Duration silence(int peer) const { return peers_[peer].silence; }

  // Returns the other ranks whose silence is at least `limit`, except ranks that left.
  std::vector<int> silent(absl::Duration limit) const;
  // Returns another rank that has left; none if no rank has.
  std::optional<int> left() const;
  // Returns the stop signal of the lowest other rank with a stop signal; 0: none.
  int stop_signal() const;
  // Returns the other ranks that keep the collective with this ordinal, counted from 1, waiting: of
  // those that did not start it the ranks that started the fewest collectives of the channel. A
  // rank that started more may itself be waiting for one of them.
  std::vector<int> absent(Channel channel, int64_t ordinal) const;

  // Returns "rank 1", and if the known ranks run on several machines, "rank 1 on node02".
  std::string name(int rank) const;
  // Returns the error of a rank, in the form of peer_error(), with name().
  absl::Status error_of(int rank, RankPhase phase, int64_t step, absl::string_view what) const;
  // Returns the error that names `peers` (the first as error_of() does) and the last known activity
  // of each.
  absl::Status blame(const std::vector<int>& peers, absl::string_view what) const;

 private:
  struct Peer {
    Heartbeat last;
    bool known = false;
    absl::Duration observed;  // when
    absl::Duration silence;
  };
  void pass_time(Peer& peer, absl::Duration now);

  const int rank_;
  const absl::Duration longest_step_;
  const std::string host_;
  std::vector<Peer> peers_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_HEARTBEAT_H_
