// The file with the state of a run, for `millrace status`.
#ifndef MILLRACE_JOB_HEALTH_STATUS_FILE_H_
#define MILLRACE_JOB_HEALTH_STATUS_FILE_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/mutex.h"
#include "job/health/rank_activity.h"
#include "proto/config.pb.h"

namespace millrace {

// Name of the file in the output directory.
inline constexpr char kStatusFile[] = "status.json";

struct StatusFileOptions {
  std::string directory;  // the output directory
  int world_size = 1;
  HealthConfig limits;
  absl::Duration interval = absl::Seconds(2);
  std::string token = {};  // of the run in the lock of the directory; "": not compared
};

// Writes OUTPUT_DIR/status.json on rank 0: a JSON object with `written` and `started` (RFC 3339,
// UTC), `host`, `process`, `interval_seconds`, `world_size`, and, at the time `written`, `step`,
// `epoch`, `window`, `phase`, `loading`, `exchanges` (true in an exchange with other ranks),
// `seconds` (of the exchange, else without progress, see Activity::idle), `waits_for` (objects with
// `rank`, `phase`, `step`), `healthy` and `health` (check_health()). A thread of its own replaces
// the file at each interval, without fsync, since a status that a crash of the machine loses is of
// no use after it. Writes nothing while the directory belongs to another run (check_owner() in
// checkpoint/folder/directory_lock.h), which is an error. The first error is logged; later
// intervals try again.
class StatusFile {
 public:
  // Borrows the references.
  StatusFile(FileSystem& files, Clock& clock, const RankActivity& activity,
             StatusFileOptions options);
  // Ends the thread and writes the last state, if the object was started.
  ~StatusFile();
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // Starts the thread, which writes at once. Further calls do nothing. REQUIRES: the directory
  // exists and belongs to this run.
  void start();

 private:
  void run();
  void write();
  absl::Status try_write();

  FileSystem& files_;
  Clock& clock_;
  const RankActivity& activity_;
  const StatusFileOptions options_;
  const absl::Time started_;
  bool complained_ = false;  // used by the thread, and after its end

  Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// Returns the text of the file.
std::string status_json(const Activity& activity, const StatusFileOptions& options,
                        absl::Time started, absl::Time now);

}  // namespace millrace

#endif  // MILLRACE_JOB_HEALTH_STATUS_FILE_H_
