// Makes a rank fail at a chosen moment of its training.
#ifndef MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_
#define MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "distributed/collectives.h"

namespace millrace {

// Parts of a step, and events between steps, in the order of a step.
enum class FailurePhase {
  kFetch,       // reading a batch
  kIds,         // the exchange of ids
  kRows,        // the exchange of rows
  kForward,     // a forward pass of a training step
  kBackward,    // a backward pass
  kSums,        // the exchange of sums of tables
  kVector,      // the sums of dense gradients and of the commit vector
  kUpdate,      // updating dense parameters and tables
  kEviction,    // the sums that choose rows to evict
  kSave,        // writing a checkpoint: its begin, and before and after each of its exchanges
  kEvaluation,  // a forward pass or an exchange of tables of an evaluation
  kWindowWait,  // looking for a window
  kRendezvous,  // having come, waiting for others; not among failure_phases(), since ranks of one
                // process meet too soon
};
inline constexpr int kFailurePhases = 12;

struct FailurePhaseEntry {
  FailurePhase phase;
  const char* name;
  RankPhase reported;  // the phase as the other ranks name it
  int hits;            // minimum number of hits in run_failing_rank(), on each rank
};
// Returns all phases, by number.
const std::array<FailurePhaseEntry, kFailurePhases>& failure_phases();

enum class InjectedKind {
  kKill,       // SIGKILL
  kFreeze,     // SIGSTOP
  kExit,       // exit(1), as a library might call it: other threads run until the end
  kTerminate,  // SIGTERM: the rank continues, and requests a stop of all ranks
  kCrash,      // SIGSEGV
  kLoop,       // an endless loop: the rank lives but takes no part
  kPause,      // no failure: the rank waits until it is released, while its host or network fails
};
const char* failure_kind_name(InjectedKind kind);

struct InjectedFailure {
  FailurePhase phase = FailurePhase::kFetch;
  InjectedKind kind = InjectedKind::kKill;
  int rank = 0;
  // The number of the hit of the phase on the rank, from 1. An exchange or a sum has two hits:
  // before the rank sends anything, and after its message, before the wait for the other ranks.
  int64_t ordinal = 1;
};

// Memory shared by the processes of a job and their parent, which creates the memory before any
// fork. Times are of the system's monotonic clock, in nanoseconds.
class FailureRecord {
 public:
  static constexpr int kMaxRanks = 8;
  struct Rank {
    std::atomic<int64_t> failed_at{0};  // 0: the rank did not fail
    std::atomic<int> phase{-1};         // RankPhase at the failure, as reported by the rank
    std::atomic<int64_t> step{-1};      // reported with the phase
    std::atomic<int64_t> ended_at{0};   // when the rank left the job; 0: it did not
    std::atomic<int64_t> released{0};   // not 0: a paused rank continues
  };

  FailureRecord();
  // In a file, for processes without a common parent. Each rank has five numbers there, as above,
  // of 8 bytes each in this machine's order. REQUIRES: the file has 8 * kMaxRanks numbers of value
  // 0 at the start of the job.
  explicit FailureRecord(const std::string& path);
  ~FailureRecord();
  FailureRecord(const FailureRecord&) = delete;
  FailureRecord& operator=(const FailureRecord&) = delete;

  // REQUIRES: 0 <= rank < kMaxRanks.
  Rank& of(int rank) { return ranks_[rank]; }
  static int64_t now();

 private:
  Rank* const ranks_;
};

// Counts how often its rank reaches the phase of its failure, and fails the rank there. Before a
// failure other than kTerminate, waits until the other ranks can know the state of this rank, so
// that they can name its phase and step.
//
// Called by the thread that trains, except published().
class FailureInjector {
 public:
  // `failures`: at most one for each rank, none for some. Borrows the record.
  FailureInjector(int rank, const std::vector<InjectedFailure>& failures, FailureRecord& record);

  // Records a hit of `phase`. Returns only if the rank does not end there.
  void hit(FailurePhase phase);
  // Records the reported state of the rank.
  void set_phase(RankPhase phase, int64_t step);
  RankPhase phase() const { return phase_; }
  // See C10dOptions. Any thread may call it.
  void published(RankPhase phase, int64_t step);

 private:
  // Waits until the other ranks can know the state of this rank.
  void await_published();
  // Records the failure, and fails.
  void fail();

  const int rank_;
  std::optional<InjectedFailure> failure_;
  FailureRecord& record_;
  int64_t hits_ = 0;  // of the phase of the failure
  RankPhase phase_ = RankPhase::kStart;
  int64_t step_ = 0;

  Mutex mutex_;
  RankPhase published_phase_ ABSL_GUARDED_BY(mutex_) = RankPhase::kEnd;
  int64_t published_step_ ABSL_GUARDED_BY(mutex_) = -1;
  int published_times_ ABSL_GUARDED_BY(mutex_) = 0;  // in succession
};

// Returns collectives that forward every call and report the progress of training to an injector:
// the hits of exchanges, sums, updates and saves. Borrows the injector.
std::unique_ptr<Collectives> inject_failures(std::unique_ptr<Collectives> under,
                                             FailureInjector& injector);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_
