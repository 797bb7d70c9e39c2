// One checkpoint on its way to the disk.
#ifndef MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_
#define MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/thread_pool.h"

namespace millrace {

// What the thread of a BackgroundSave does, in this order. Exceptions are errors.
struct SaveWork {
  // Reads the state and writes the files. The function, and with it the state that it owns, is
  // destroyed once it has returned, also after an error.
  std::function<absl::Status(ThreadPool&)> copy;
  // Makes them durable. Returns: what the rank that commits has to know of them.
  std::function<absl::StatusOr<std::string>(ThreadPool&)> sync;
  // Makes them a checkpoint; what all ranks returned, by rank.
  std::function<absl::Status(const std::vector<std::string>&, ThreadPool&)> commit;
};

// Saves in a thread of its own, whose priority is lowered, as is that of the `threads` it works
// with: training goes first. In two parts, since between them the ranks have to agree:
//
//   BackgroundSave save(work, 4);
//   ... save.ready() at times ... then save.part() is told to the others, and theirs come back
//   save.commit(parts);
//   ... save.ready() again ... then save.outcome() says what came of it
//
// Used by one thread.
class BackgroundSave {
 public:
  // Begins.
  BackgroundSave(SaveWork work, int threads);
  // Without commit, or after an error, nothing is committed. Waits for what is under way.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Whether the present part is over, well or not.
  bool ready() const;
  void await_ready() const;
  // Waits until the state has been read.
  void await_copied() const;

  // Of sync, or the first error. REQUIRES: ready() before commit.
  absl::StatusOr<std::string> part() const;
  // Begins the second part. REQUIRES: part() was no error; called once.
  void commit(std::vector<std::string> parts);
  bool committing() const;
  // REQUIRES: ready() after commit.
  absl::Status outcome() const;

 private:
  enum class Stage { kCopying, kSyncing, kWritten, kCommitting, kDone, kAbandoned };
  void run(int threads);
  void enter(Stage stage);
  static bool is_ready(Stage stage) { return stage == Stage::kWritten || stage >= Stage::kDone; }

  SaveWork work_;  // of thread_
  mutable Mutex mutex_;
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kCopying;
  absl::StatusOr<std::string> part_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> parts_ ABSL_GUARDED_BY(mutex_);
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_BACKGROUND_SAVE_H_
