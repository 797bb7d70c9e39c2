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

// Where the versions to serve are.
struct ServedPlace {
  std::string path;
  enum Kind {
    kCheckpoint,   // this one
    kCheckpoints,  // a folder of checkpoints
    kPublished     // a folder of published versions (checkpoint/published/published_folder.h)
  };
  Kind kind = kCheckpoint;
  // Opens the job's vocabularies from their copies, for kPublished; else null.
  std::unique_ptr<FileSystem> copies;
  FileSystem* files =
      nullptr;  // to read versions and vocabularies: `copies`, or the argument below
};

// Resolves a path of a user: a checkpoint, a folder of checkpoints or of published versions, or an
// output directory, whose checkpoints are meant. Borrows `files`. Errors: as
// resolve_checkpoint_path() and read_versions().
absl::StatusOr<ServedPlace> resolve_served_place(FileSystem& files, const std::string& path);

// Loads the newest version of a place; for kPublished, the version that served_version() names.
// Skips damaged versions. Errors: as served_version() and load_version(); NotFound without a
// version.
absl::StatusOr<std::shared_ptr<const ModelVersion>> load_newest(const ServedPlace& place);

struct FollowerCounts {
  int64_t deltas = 0, full_loads = 0;  // versions that were taken
  int64_t refused = 0;                 // checkpoints that were passed over, each once
  // PublishedVersions::Version::data_time of the served version; "": unknown.
  std::string data_time = {};
  // Time from its newest data until it was taken; zero: unknown, as for the first version.
  absl::Duration freshness = absl::ZeroDuration();
};

// Watches a folder of checkpoints, or of published versions. A delta on the served version, or on
// deltas on it, is read alone and becomes an overlay, which is then merged part by part; any other
// newer checkpoint is loaded whole beside the served one. A checkpoint that is damaged, or of
// another job, is passed over with a warning, once. Of published versions it takes the one to
// serve, which after a rollback is an older one.
class Follower {
 public:
  // Borrows `predictor` and the file system of `place`, which is a folder. `interval`: between two
  // looks at the folder.
  Follower(const ServedPlace& place, absl::Duration interval, Predictor& predictor);
  ~Follower();  // ends the thread, after the checkpoint that it loads
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Looks once for a newer checkpoint. Returns true if the version changed. Called by one thread:
  // not after start(), whose thread calls it.
  bool poll();
  void start();
  FollowerCounts counts() const;

 private:
  absl::StatusOr<std::vector<std::string>> candidates();
  absl::StatusOr<bool> take(const std::string& path);
  void refuse(const std::string& path, const absl::Status& why);
  absl::StatusOr<std::shared_ptr<const ModelVersion>> advance(const CheckpointReader& newest,
                                                              FollowerCounts* counts);
  void merge();
  void run();

  FileSystem& files_;
  const std::string folder_;
  const bool is_published_;
  const absl::Duration interval_;
  Predictor& predictor_;
  std::set<std::string> refused_;                   // path and reason
  absl::Duration released_ = absl::ZeroDuration();  // time of the last release of memory
  std::string data_time_;                           // of the version to serve
  std::string last_error_;                          // of poll(), which logs it once; "": none
  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  FollowerCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_SERVING_FOLLOWER_H_
