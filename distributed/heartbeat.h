// What each rank of a job says about itself in the store, and what others conclude from it.
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

// A sign of life. `beat` changes each time; a rank whose beat stands still is dead or frozen.
struct Heartbeat {
  int64_t beat = 0;
  RankPhase phase = RankPhase::kRendezvous;
  int64_t step = 0;
  int64_t started[kChannels] = {};  // collectives that it started so far, by Channel
  bool left = false;                // it destroyed its Collectives
  bool knows_failure = false;       // it knows that the job cannot go on
  int stop_signal = 0;              // that asks it to stop; 0: none
};

std::string format_heartbeat(const Heartbeat& heartbeat);
// None if `text` is not one.
std::optional<Heartbeat> parse_heartbeat(absl::string_view text);

// What one rank knows about the others. Time is any steady time; thread-compatible.
class PeerWatch {
 public:
  // One step of time counts at most as `longest_step`: who was frozen itself must not
  // conclude that the others were.
  PeerWatch(int rank, int world_size, absl::Duration longest_step);

  void observe(int peer, const Heartbeat& heartbeat, absl::Duration now);
  // It was looked for and could not be asked.
  void observe_nothing(int peer, absl::Duration now);

  const Heartbeat& last(int peer) const { return peers_[peer].last; }
  // For how long its beat has stood still while it was looked at.
  absl::Duration silence(int peer) const { return peers_[peer].silence; }

  // Other ranks whose silence is at least `limit`, and have not left.
  std::vector<int> silent(absl::Duration limit) const;
  // Another rank that has left; none if all are here.
  std::optional<int> left() const;
  // Whether another rank waits for its dataset, for as long as that takes.
  bool any_waits_for_data() const;
  // The signal that asks the lowest other rank to stop that has one; 0: none.
  int stop_signal() const;
  // Other ranks that did not start the collective with this ordinal, counted from 1.
  std::vector<int> absent(Channel channel, int64_t ordinal) const;

  // The error that names `peers` (the first as by peer_error) and where each was last seen.
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
  std::vector<Peer> peers_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_HEARTBEAT_H_
