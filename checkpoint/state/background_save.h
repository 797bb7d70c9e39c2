// One asynchronous save of a checkpoint.
#ifndef MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_
#define MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/thread_pool.h"

namespace millrace {

// The work of the thread of a BackgroundSave, in this order. Exceptions become errors.
struct SaveWork {
  // Reads the state and writes the files. After the function has returned, also with an error, the
  // function is destroyed, together with its state.
  std::function<absl::Status(ThreadPool&)> copy;
  // Makes the files durable. Returns the data about them that the committing rank needs.
  std::function<absl::StatusOr<std::string>(ThreadPool&)> sync;
  // Commits the files as a checkpoint. The argument has the results of `sync` of all ranks, by
  // rank.
  std::function<absl::Status(const std::vector<std::string>&, ThreadPool&)> commit;
};

// Saves in a separate thread. The thread and its pool of `threads` threads have a lowered priority,
// so that training goes first. The save has two parts, since between them the ranks have to agree:
//
//   BackgroundSave save(work, 4);
//   ... poll save.ready(), then exchange save.part() with the other ranks ...
//   save.commit(parts);
//   ... poll save.ready() again, then get the result from save.outcome() ...
//
// Used by one thread.
class BackgroundSave {
 public:
  // Starts the thread.
  BackgroundSave(SaveWork work, int threads);
  // Waits for the current part. Without a call of commit(), or after an error, nothing is
  // committed.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Returns true if the current part has ended, with or without an error.
  bool ready() const;
  // Waits until ready(), at most for `limit`. Returns ready().
  bool await_ready(absl::Duration limit = absl::InfiniteDuration()) const;
  // Waits until the state has been read, at most for `limit`. Returns true if it has been read.
  bool await_copied(absl::Duration limit = absl::InfiniteDuration()) const;

  // Returns the result of `sync`, or the first error. REQUIRES: ready() before commit().
  absl::StatusOr<std::string> part() const;
  // Begins the second part. REQUIRES: part() was no error; called once.
  void commit(std::vector<std::string> parts);
  bool committing() const;
  // Returns the result of `commit`. REQUIRES: ready() after commit().
  absl::Status outcome() const;

 private:
  enum class Stage { kCopying, kSyncing, kWritten, kCommitting, kDone, kAbandoned };
  void run(int threads);
  void enter(Stage stage);
  static bool is_ready(Stage stage) { return stage == Stage::kWritten || stage >= Stage::kDone; }

  SaveWork work_;  // used by thread_
  mutable Mutex mutex_;
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kCopying;
  absl::StatusOr<std::string> part_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> parts_ ABSL_GUARDED_BY(mutex_);
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_
