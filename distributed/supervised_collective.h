// A collective under way on threads of a library, with a supervised wait.
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
// be called after the destruction of the rank's Collectives. Thread-safe.
class CollectivesUnderWay {
 public:
  // One collective; guarded by the mutex of its CollectivesUnderWay.
  struct Entry {
    bool ended = false;
    std::string error;  // empty: it succeeded
  };

  std::shared_ptr<Entry> add();
  // Ends the collective. `error`: the library's error, or empty.
  void end(Entry& entry, std::string error);
  // Ends all waits, since the job cannot continue.
  void fail();
  // Waits until the collective has ended, or the job has failed. Returns true if the collective has
  // ended, and then sets `error`.
  bool await(const Entry& entry, absl::Duration limit, std::string* error);
  // Waits until all collectives have ended. Returns false after the limit.
  bool await_all(absl::Duration limit);

 private:
  Mutex mutex_;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
};

// The duration of a wait before its rank checks the other ranks for failures, and the time between
// two such checks.
inline constexpr absl::Duration kFirstLook = absl::Seconds(1);
inline constexpr absl::Duration kBetweenLooks = absl::Milliseconds(250);

// A collective with only one actual wait: later calls of wait() return the first result.
class CollectiveAwaitedOnce : public PendingCollective {
 public:
  absl::Status wait() final;

 private:
  // Waits, and determines the cause of a long wait.
  virtual absl::Status supervise() = 0;

  bool done_ = false;
  absl::Status result_;
};

class SupervisedCollective : public CollectiveAwaitedOnce {
 public:
  // A collective under way. `supervisor` must outlive this object.
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
