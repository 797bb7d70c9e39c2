// Supervision of the ranks of a running job: detects failed, dead, frozen and absent ranks.
#ifndef MILLRACE_DISTRIBUTED_SUPERVISOR_H_
#define MILLRACE_DISTRIBUTED_SUPERVISOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/mesh/job_store.h"
#include "distributed/wait_notice.h"

namespace millrace {

struct SupervisorOptions {
  int rank = 0;
  int world_size = 1;
  // The machine of this rank (Heartbeat::host).
  std::string host;
  // Time-out for a rank without a sign of life, and for a rank that does not take part.
  absl::Duration timeout = absl::Seconds(60);
  // Time-out for a rank that keeps others waiting while it writes or loads its files
  // (RankPhase::kCheckpoint).
  absl::Duration checkpoint_timeout = absl::Hours(2);
  // A wait of this length is logged, with the ranks that are waited for, and again after each
  // further interval.
  absl::Duration notice_interval = absl::Minutes(1);
  // If true, rank 0 serves the store, which ends with rank 0; if false, the launcher serves the
  // store.
  bool rank_0_serves_store = true;
  // Returns true if the connection to a rank is closed. Called on any thread.
  std::function<bool(int rank)> connection_lost;
  // Returns the time since the last packet from a rank, which is at most the longer one of 1 s and
  // half of `timeout` while the network works. Called on any thread. Default: unknown.
  std::function<absl::Duration(int rank)> connection_silence;
  // Called once, on the thread that detects the failure, when the job cannot continue.
  std::function<void()> failed;
  // Returns the signal that requests this rank to stop, or 0. Called on the supervisor's thread.
  // Default: no signal.
  std::function<int()> stop_signal;
  // Called on the same thread, possibly many times, while this rank waits without limit
  // (is_unlimited()) and a signal requests another rank to stop. Default: no call.
  std::function<void(int signal)> peer_stop_signal;
  // See C10dOptions.
  std::function<void(RankPhase, int64_t step)> published;
  // See C10dOptions.
  std::function<void(int rank, RankPhase, int64_t step)> observed;
};

// The supervisor's view of a wait for a collective.
struct SupervisedWait {
  Channel channel = Channel::kControl;
  // Result of count_started(); 0: no collective, but a wait that only a silent or dead rank ends.
  int64_t ordinal = 0;
  const char* what = "";  // "a sum", for messages

  // A rank that keeps the collective waiting.
  struct Late {
    bool files = false;                            // if true, the rank is in RankPhase::kCheckpoint
    absl::Duration waited = absl::ZeroDuration();  // since `files` changed; 0: no limit applies
  };

  // Maintained by the supervisor: by rank, the time that counts against a time-out of the rank; the
  // time since all ranks take part; and how long the store has not answered.
  std::vector<Late> late;
  absl::Duration waited = absl::ZeroDuration();
  absl::Duration unanswered = absl::ZeroDuration();
  absl::Duration looked = -absl::InfiniteDuration();
  int64_t answers = -1;
};

// The supervisor of one rank of a job. Its thread writes the rank's state to the store (twice a
// second, and soon after a change) and reads failures of other ranks from the store; during a long
// wait, also the state of all other ranks. While the rank waits outside of a collective
// (is_unlimited()), the thread also reads whether a signal requests another rank to stop, and a
// closed connection makes it search for dead ranks.
//
// Errors are Aborted, in the form of peer_error(). The first error of all ranks counts: it is
// written to the store, and every rank returns the same text if possible.
class Supervisor {
 public:
  // `store` must be reachable and outlive this object.
  Supervisor(JobStore& store, SupervisorOptions options);
  // Reports to the store that the rank left, unless leave() was called.
  ~Supervisor();

  // Sets the activity of this rank. Any thread; takes a few nanoseconds.
  void set_phase(RankPhase phase, int64_t step) {
    doing_.store(step * kPhases + static_cast<int64_t>(phase), std::memory_order_relaxed);
  }
  // Counts a collective. Returns its ordinal on the channel, from 1.
  int64_t count_started(Channel channel) {
    return started_[static_cast<int>(channel)].fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // Returns the error that ended the job, or OK. Any thread.
  absl::Status failure();
  // Reports that the rank cannot continue because of `reason`. Returns the error that counts. Any
  // thread.
  absl::Status fail(absl::string_view reason);

  // Checks a long wait. The waiting thread calls this function periodically. Returns OK to continue
  // the wait, or the error to end the wait with.
  absl::Status look_after(SupervisedWait& wait);
  // Supervises a wait in which the thread cannot call look_after(): after a second, the
  // supervisor's own thread checks the wait, and calls `failed` if the wait must end. One wait at a
  // time.
  void watch(const SupervisedWait& wait);
  void unwatch();
  // Determines the cause of a broken connection with this error. Names this rank if no other one is
  // suspect. Takes a few seconds at most.
  absl::Status explain_broken_connection(absl::string_view error);

  // Stops the thread and reports to the store that the rank is gone. Idempotent.
  void leave();
  // Waits until the other ranks no longer need the store: each has left, knows of a failure, or
  // shows no sign of life; at most `limit`. REQUIRES: leave() was called.
  void wait_for_leavers(absl::Duration limit);

 private:
  static constexpr int64_t kPhases = 64;  // room for RankPhase

  void run();
  // Returns true once this rank has waited without limit (is_unlimited()) for a second.
  // `now_doing`: doing_. The thread calls this function in each iteration.
  bool is_stalled(int64_t now_doing);
  // Returns the other ranks with a closed connection.
  std::vector<int> lost_connections() const;
  // Accuses a dead rank while this rank waits outside of a collective and may be the only one to
  // notice.
  void look_for_dead();
  // Passes the stop signal of another rank to peer_stop_signal.
  void report_stop_signal();
  // Checks the watched wait; called in each iteration of run().
  void look_after_watched();
  absl::Status talk(bool round, bool all);
  // Adds `step` to the time that the wait has lasted for each rank that keeps it waiting.
  void count_wait(SupervisedWait& wait, const std::vector<int>& absent, absl::Duration step) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Logs the ranks that keep a long wait waiting.
  void notify_of(const SupervisedWait& wait, const std::vector<int>& absent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the time since the last check to a wait. Returns the error if the wait must end.
  absl::Status check_wait(SupervisedWait& wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the error of a wait that is too long though all ranks take part.
  absl::Status no_progress(const SupervisedWait& wait) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the error of this rank in its current phase.
  absl::Status own_error(absl::string_view reason) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns this rank's current heartbeat.
  Heartbeat own_heartbeat();
  absl::Status publish();
  // Reads heartbeats: of every other rank if `all`, else of rank 0 alone.
  absl::Status read_others(bool all);
  absl::Status read_failure();
  void note_store_error(const absl::Status& status);
  // Makes `failure` the error that counts on this rank, unless an earlier error exists. Returns the
  // counting error.
  absl::Status settle(const absl::Status& failure);
  // Like settle(), on all ranks.
  absl::Status accuse(const absl::Status& failure);
  // Wakes the supervisor's thread for a round of messages now.
  void request_round();
  // Waits until the thread has read the heartbeats of all ranks once more. Returns false if it does
  // not.
  bool wait_for_round();
  absl::Status find_dead();

  JobStore& store_;
  const SupervisorOptions options_;
  // Ranks of large jobs write less often, so that the store is not overloaded.
  const absl::Duration shortest_interval_;
  const absl::Duration interval_;
  // Rank 0 is read more often: its death also ends the store, after which no reads are possible.
  const absl::Duration rank_0_interval_;
  std::vector<std::string> beat_keys_;

  std::atomic<int64_t> doing_{static_cast<int64_t>(RankPhase::kRendezvous)};
  std::atomic<int64_t> started_[kChannels] = {};  // by Channel

  // Used by the thread alone, and by leave() after its end.
  int64_t beat_ = 0;
  int64_t last_doing_ = -1;     // doing_ at the last check
  absl::Duration doing_since_;  // when doing_ was first seen to be last_doing_
  bool left_ = false;
  bool knows_failure_ = false;

  // The thread sleeps on this mutex. Separate from mutex_, since releasing a lock wakes all of its
  // waiting threads.
  Mutex wake_mutex_;
  bool stop_ ABSL_GUARDED_BY(wake_mutex_) = false;
  bool round_requested_ ABSL_GUARDED_BY(wake_mutex_) = false;

  Mutex mutex_;
  PeerWatch watch_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  // During a long wait: heartbeats of all ranks are read until this time.
  absl::Time attention_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::optional<SupervisedWait> watched_ ABSL_GUARDED_BY(mutex_);
  absl::Duration watched_since_ ABSL_GUARDED_BY(mutex_);
  // The wait that was checked last, and its lines in the log.
  std::pair<Channel, int64_t> noticed_ ABSL_GUARDED_BY(mutex_) = {Channel::kControl, 0};
  std::optional<WaitNotice> notice_ ABSL_GUARDED_BY(mutex_);
  // True while a line is being logged. Shared with the thread that logs the line.
  const std::shared_ptr<std::atomic<bool>> logging_ = std::make_shared<std::atomic<bool>>(false);
  int64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;   // attempts to read the heartbeats of all ranks
  int64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;  // answers of the store
  // Time of the store's last answer; initially of the construction.
  absl::Duration answered_ ABSL_GUARDED_BY(mutex_);
  bool store_lost_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_SUPERVISOR_H_
