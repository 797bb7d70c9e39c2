// A collective under way on threads of a library, waited for under supervision.
#ifndef MILLRACE_DISTRIBUTED_SUPERVISED_COLLECTIVE_H_
#define MILLRACE_DISTRIBUTED_SUPERVISED_COLLECTIVE_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "distributed/collectives.h"
#include "distributed/supervisor.h"

namespace millrace {

// The collectives of one rank that have not ended. Shared with the library's callbacks, which may
// come after the rank's Collectives is gone. Thread-safe.
class CollectivesUnderWay {
 public:
  // One collective; guarded by the mutex of its CollectivesUnderWay.
  struct Entry {
    bool ended = false;
    std::string error;  // empty: it succeeded
  };

  std::shared_ptr<Entry> add();
  // The collective ended, with what the library says was wrong, if anything was.
  void end(Entry& entry, std::string error);
  // The job cannot go on: nobody shall wait any longer.
  void fail();
  // Waits until the collective ended, or the job failed. Returns: whether it ended, with its error.
  bool await(const Entry& entry, absl::Duration limit, std::string* error);
  // Waits until all have ended. Returns: false if they do not within the limit.
  bool await_all(absl::Duration limit);

 private:
  Mutex mutex_;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
};

// How long a wait takes before its rank looks for failures of the others, and the time between two
// such looks.
inline constexpr absl::Duration kFirstLook = absl::Seconds(1);
inline constexpr absl::Duration kBetweenLooks = absl::Milliseconds(250);

// A collective whose wait() ends once: later calls return what the first one did.
class CollectiveAwaitedOnce : public PendingCollective {
 public:
  absl::Status wait() final;

 private:
  // Waits, and finds out what is amiss if that takes too long.
  virtual absl::Status supervise() = 0;

  bool done_ = false;
  absl::Status result_;
};

class SupervisedCollective : public CollectiveAwaitedOnce {
 public:
  // Under way. `supervisor` must outlive it.
  SupervisedCollective(Supervisor& supervisor, std::shared_ptr<CollectivesUnderWay> under_way,
                       std::shared_ptr<CollectivesUnderWay::Entry> entry, SupervisedWait wait)
      : supervisor_(supervisor),
        under_way_(std::move(under_way)),
        entry_(std::move(entry)),
        wait_(wait) {}

 private:
  absl::Status supervise() override;

  Supervisor& supervisor_;
  const std::shared_ptr<CollectivesUnderWay> under_way_;
  const std::shared_ptr<CollectivesUnderWay::Entry> entry_;
  SupervisedWait wait_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_SUPERVISED_COLLECTIVE_H_
