// Watches over the ranks of a job while it runs: who failed, died, froze or stays away.
#ifndef MILLRACE_DISTRIBUTED_SUPERVISOR_H_
#define MILLRACE_DISTRIBUTED_SUPERVISOR_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "distributed/collectives.h"
#include "distributed/heartbeat.h"
#include "distributed/mesh/job_store.h"

namespace millrace {

struct SupervisorOptions {
  int rank = 0;
  int world_size = 1;
  // For a rank that shows no sign of life, and for one that does not take part.
  absl::Duration timeout = absl::Seconds(60);
  // Whether the store is gone when rank 0 is; else the launcher serves it.
  bool rank_0_serves_store = true;
  // Whether the connection to a rank is closed. Called on the thread that waits.
  std::function<bool(int rank)> connection_lost;
  // Called once, on the thread that finds out, when the job cannot go on.
  std::function<void()> failed;
  // The signal that asks this rank to stop, 0 if there is none. Called on the supervisor's thread.
  // Default: there is none.
  std::function<int()> stop_signal;
  // Called on the same thread, perhaps many times, while this rank waits without limit
  // (is_unlimited) and a signal asks another rank to stop. Default: nothing is called.
  std::function<void(int signal)> peer_stop_signal;
  // See C10dOptions.
  std::function<void(RankPhase, int64_t step)> published;
};

// A collective that a thread waits for, as the supervisor sees it.
struct SupervisedWait {
  Channel channel = Channel::kControl;
  int64_t ordinal = 0;    // as count_started() gave it
  const char* what = "";  // "a sum", for messages

  // Kept by the supervisor: time that counts against the time-out so far, and for how long the
  // store has not answered.
  absl::Duration waited = absl::ZeroDuration();
  absl::Duration unanswered = absl::ZeroDuration();
  absl::Duration looked = -absl::InfiniteDuration();
  int64_t answers = -1;
};

// One of a rank's job. Its thread tells the store what this rank does (twice a second, and soon
// after that changed) and reads there whether another one failed; while somebody waits in vain,
// also what all the others do. While this rank waits for its data, which takes as long as it takes,
// the thread also reads whether a signal asks another rank to stop.
//
// Errors that it finds are Aborted, as by peer_error. The first one counts, of all ranks: it is
// written to the store, and every rank returns the same text where it can.
class Supervisor {
 public:
  // `store` must outlive it and be reachable.
  Supervisor(JobStore& store, SupervisorOptions options);
  // Says that this rank left, unless leave() did.
  ~Supervisor();

  // From any thread; a few nanoseconds.
  void set_phase(RankPhase phase, int64_t step) {
    doing_.store(step * kPhases + static_cast<int64_t>(phase), std::memory_order_relaxed);
  }
  // Counts a collective. Returns: its ordinal on the channel, from 1.
  int64_t count_started(Channel channel) {
    return started_[static_cast<int>(channel)].fetch_add(1, std::memory_order_relaxed) + 1;
  }

  // The error after which nothing goes on; OK while there is none. From any thread.
  absl::Status failure();
  // This rank cannot go on because of `reason`. Returns: the error that counts. From any thread.
  absl::Status fail(absl::string_view reason);

  // To be called every now and then, by the thread that waits, once a wait has become long.
  // Returns: OK to wait on, or why there is no point in it.
  absl::Status look_after(SupervisedWait& wait);
  // The same for a wait in which the thread hears of nothing: after a second, the supervisor's own
  // thread looks after it, and calls `failed` if there is no point in it. One at a time.
  void watch(const SupervisedWait& wait);
  void unwatch();
  // A connection broke with this error: finds out whose fault it is. Takes a few seconds at most.
  absl::Status explain_broken_connection(absl::string_view error);

  // Stops the thread and says in the store that this rank is gone. Idempotent.
  void leave();
  // Waits until the other ranks need the store no more: they left, or know of a failure, or show no
  // sign of life; at most `limit`. REQUIRES: leave().
  void wait_for_leavers(absl::Duration limit);

 private:
  static constexpr int64_t kPhases = 64;  // room for RankPhase

  void run();
  // True once this rank has waited without limit (is_unlimited) for a second, `now_doing` being
  // doing_. The thread calls it each time.
  bool is_stalled(int64_t now_doing);
  // Passes the signal of another rank on.
  void report_stop_signal();
  // What run() does each time.
  void look_after_watched();
  absl::Status talk(bool round, bool all);
  // Passes the time of a wait. Returns: why there is no point in it.
  absl::Status judge(SupervisedWait& wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What this rank tells the others now.
  Heartbeat own_heartbeat();
  absl::Status publish();
  // Reads what the others tell. `all`: of every rank, else of rank 0 alone.
  absl::Status read_others(bool all);
  absl::Status read_failure();
  void note_store_error(const absl::Status& status);
  // Makes `failure` the one that counts here, unless there is one. Returns: the one that counts.
  absl::Status settle(const absl::Status& failure);
  // The same, and for the other ranks.
  absl::Status accuse(const absl::Status& failure);
  void hurry();
  // Waits until the thread looked at all ranks once more. Returns: false if it does not come to it.
  bool wait_for_round();
  absl::Status find_dead();

  JobStore& store_;
  const SupervisorOptions options_;
  // Many ranks speak more rarely, so that they do not drown the store.
  const absl::Duration shortest_interval_;
  const absl::Duration interval_;
  // Rank 0 is looked at more often: when it dies, the store goes too, and cannot be asked any more.
  const absl::Duration rank_0_interval_;
  std::vector<std::string> beat_keys_;

  std::atomic<int64_t> doing_{static_cast<int64_t>(RankPhase::kRendezvous)};
  std::atomic<int64_t> started_[kChannels] = {};  // by Channel

  // Of the thread alone, and of leave() after it ended.
  int64_t beat_ = 0;
  int64_t last_doing_ = -1;     // doing_ when it was last looked at
  absl::Duration doing_since_;  // when doing_ was first seen to be last_doing_
  bool left_ = false;
  bool knows_failure_ = false;

  // What the thread sleeps on; apart from the rest, since a lock given up wakes whoever waits on
  // it.
  Mutex wake_mutex_;
  bool stop_ ABSL_GUARDED_BY(wake_mutex_) = false;
  bool hurry_ ABSL_GUARDED_BY(wake_mutex_) = false;

  Mutex mutex_;
  PeerWatch watch_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  // Somebody waits in vain: look at all ranks until then.
  absl::Time attention_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::optional<SupervisedWait> watched_ ABSL_GUARDED_BY(mutex_);
  absl::Duration watched_since_ ABSL_GUARDED_BY(mutex_);
  int64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;   // looks at all ranks, tried
  int64_t answers_ ABSL_GUARDED_BY(mutex_) = 0;  // times that the store answered
  bool store_lost_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_SUPERVISOR_H_
