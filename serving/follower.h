// Keeps a predictor at the newest version of a folder.
#ifndef MILLRACE_SERVING_FOLLOWER_H_
#define MILLRACE_SERVING_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "serving/predictor.h"

namespace millrace {

// Loads the newest checkpoint at `path`: a checkpoint, a folder of checkpoints or an output
// directory. Passes over damaged ones. Errors: as resolve_checkpoint_path() and load_version();
// NotFound without a checkpoint.
absl::StatusOr<std::shared_ptr<const ModelVersion>> load_newest(FileSystem& files,
                                                                const std::string& path);

struct FollowerCounts {
  int64_t deltas = 0, full_loads = 0;  // versions that were taken
  int64_t refused = 0;                 // checkpoints that were passed over, each once
};

// Watches a folder of checkpoints. A delta on the served version, or on deltas on it, is read alone
// and becomes an overlay, which is then merged part by part; any other newer checkpoint is loaded
// whole beside the served one. A checkpoint that is damaged, or of another job, is passed over with
// a warning, once.
class Follower {
 public:
  // Borrows `files` and `predictor`. `interval`: between two looks at the folder.
  Follower(FileSystem& files, std::string folder, absl::Duration interval, Predictor& predictor);
  ~Follower();  // ends the thread, after the checkpoint that it loads
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Looks once for a newer checkpoint. Returns true if the version changed. Called by one thread:
  // not after start(), whose thread calls it.
  bool poll();
  void start();
  FollowerCounts counts() const;

 private:
  absl::StatusOr<bool> take(const std::string& path);
  void refuse(const std::string& path, const absl::Status& why);
  absl::StatusOr<std::shared_ptr<const ModelVersion>> advance(const CheckpointReader& newest,
                                                              FollowerCounts* counts);
  void merge();
  void run();

  FileSystem& files_;
  const std::string folder_;
  const absl::Duration interval_;
  Predictor& predictor_;
  std::set<std::string> refused_;  // path and reason
  std::string last_error_;         // of poll(), which logs it once; "": none
  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  FollowerCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_SERVING_FOLLOWER_H_
