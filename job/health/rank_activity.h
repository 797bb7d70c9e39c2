// The current activity of this process as a rank, for probes of its health.
#ifndef MILLRACE_JOB_HEALTH_RANK_ACTIVITY_H_
#define MILLRACE_JOB_HEALTH_RANK_ACTIVITY_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/progress.h"
#include "distributed/collectives.h"

namespace millrace {

// Another rank, as last read from its heartbeat.
struct PeerActivity {
  int rank = 0;
  RankPhase phase = RankPhase::kRendezvous;
  int64_t step = 0;

  friend bool operator==(const PeerActivity&, const PeerActivity&) = default;
};

// The activity of a rank at one time.
struct Activity {
  RankPhase phase = RankPhase::kRendezvous;
  int64_t step = 0;      // of the phase
  bool loading = false;  // if true, the first step, window or evaluation has not begun
  // Time since the last progress: since the program started while it loads, since the wait began in
  // a wait for a window, else since the phase, the step or the batch began, or an exchange ended.
  absl::Duration idle = absl::ZeroDuration();
  // Duration of the exchange with other ranks that is under way; none: the rank computes.
  std::optional<absl::Duration> exchange = std::nullopt;
  // Other ranks in another phase or step than this one, read since the exchange began. Empty
  // without an exchange, and for one of less than about a second.
  std::vector<PeerActivity> behind = {};
  int64_t epoch = 0;   // epochs finished
  int64_t window = 0;  // windows finished
};

// Records the activity. The trainer's thread writes, and any thread reads. Writes take no lock: a
// phase costs a reading of the clock and relaxed stores.
class RankActivity {
 public:
  // The program is loading. Borrows `clock`.
  explicit RankActivity(const Clock& clock);

  // Begins a phase, as Collectives::set_phase() does.
  void set_phase(RankPhase phase, int64_t step);
  void set_progress(const Progress& progress);
  // Marks the beginning and the end of an exchange with other ranks.
  void begin_exchange();
  void end_exchange();
  // Records the heartbeat of another rank. Any thread.
  void observe(const PeerActivity& peer);

  Activity now() const;

 private:
  struct Observed {
    PeerActivity peer;
    int64_t at = 0;
  };
  int64_t microseconds() const;

  const Clock& clock_;
  // The phase, whether the rank is loading, and the time of the last progress in microseconds, in
  // one number, so that a reader never combines two phases.
  std::atomic<int64_t> state_;
  std::atomic<int64_t> step_ = 0;
  std::atomic<int64_t> epoch_ = 0, window_ = 0;
  std::atomic<int64_t> exchange_since_ = -1;  // -1: none is under way
  // Used by the trainer's thread: the beginning of the wait for a window. The wait continues if the
  // rank waits again before it reads data or begins a step. -1: no such wait.
  int64_t window_wait_since_ = -1;

  mutable Mutex mutex_;
  std::map<int, Observed> peers_ ABSL_GUARDED_BY(mutex_);  // by rank
};

// Returns collectives that record phases and exchanges. Borrows `activity`.
std::unique_ptr<Collectives> record_activity(std::unique_ptr<Collectives> collectives,
                                             RankActivity& activity);

}  // namespace millrace

#endif  // MILLRACE_JOB_HEALTH_RANK_ACTIVITY_H_
