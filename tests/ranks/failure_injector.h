// Makes a rank fail at a chosen moment of its training.
#ifndef MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_
#define MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "distributed/collectives.h"

namespace millrace {

// Parts of a step, and what happens between steps, in the order of a step.
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
  kSave,        // writing a checkpoint: its begin, and before and after each exchange of it
  kEvaluation,  // a forward pass or an exchange of tables of an evaluation
  kWindowWait,  // looking for a window
};
inline constexpr int kFailurePhases = 12;

struct FailurePhaseEntry {
  FailurePhase phase;
  const char* name;
  RankPhase reported;  // as the other ranks name the phase
  int hits;            // of the training of run_failing_rank(), at least, on each rank
};
// All of them, by number.
const std::array<FailurePhaseEntry, kFailurePhases>& failure_phases();

enum class InjectedKind {
  kKill,       // SIGKILL
  kFreeze,     // SIGSTOP
  kExit,       // exit(1), as a library might call it: other threads run until the end
  kTerminate,  // SIGTERM: the rank continues, and asks all ranks to stop
  kCrash,      // SIGSEGV
  kLoop,       // an endless loop: the rank lives and does not take part
};
const char* failure_kind_name(InjectedKind kind);

struct InjectedFailure {
  FailurePhase phase = FailurePhase::kFetch;
  InjectedKind kind = InjectedKind::kKill;
  int rank = 0;
  // The number of the hit of this phase on this rank, from 1. An exchange or a sum is two hits:
  // before this rank sends anything, and after it sent its message, before it waits for those of
  // the others.
  int64_t ordinal = 1;
};

// Memory that the processes of a job share with their parent, which makes it before it forks.
// Times are those of the system's monotonic clock, in nanoseconds.
class FailureRecord {
 public:
  static constexpr int kMaxRanks = 8;
  struct Rank {
    std::atomic<int64_t> failed_at{0};  // 0: the rank did not fail
    std::atomic<int> phase{-1};         // RankPhase at the failure, as the rank had reported it
    std::atomic<int64_t> step{-1};      // reported with the phase
    std::atomic<int64_t> ended_at{0};   // when the rank left the job; 0: it did not
  };

  FailureRecord();
  ~FailureRecord();
  FailureRecord(const FailureRecord&) = delete;
  FailureRecord& operator=(const FailureRecord&) = delete;

  // REQUIRES: 0 <= rank < kMaxRanks.
  Rank& of(int rank) { return ranks_[rank]; }
  static int64_t now();

 private:
  Rank* const ranks_;
};

// Counts how often its rank comes to the phase of its failure, and fails there. Before a failure
// other than kTerminate, waits until the other ranks can know what this rank is doing, so that they
// can name its phase and step.
//
// Called by the thread that trains, apart from published().
class FailureInjector {
 public:
  // `failures`: at most one for each rank; this rank may have none. Borrows the record.
  FailureInjector(int rank, const std::vector<InjectedFailure>& failures, FailureRecord& record);

  // This rank comes to `phase`. Returns only if it does not end there.
  void hit(FailurePhase phase);
  // Notes what this rank reports to the others.
  void set_phase(RankPhase phase, int64_t step);
  RankPhase phase() const { return phase_; }
  // See C10dOptions. Any thread.
  void published(RankPhase phase, int64_t step);

 private:
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
  int published_times_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
};

// Collectives that pass everything on and report to an injector where the training is: the hits of
// exchanges, sums, updates and saves. Borrows the injector.
std::unique_ptr<Collectives> inject_failures(std::unique_ptr<Collectives> under,
                                             FailureInjector& injector);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_FAILURE_INJECTOR_H_
