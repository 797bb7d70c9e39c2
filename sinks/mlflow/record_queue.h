// A queue of records on disk.
#ifndef MILLRACE_SINKS_MLFLOW_RECORD_QUEUE_H_
#define MILLRACE_SINKS_MLFLOW_RECORD_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "base/mutex.h"

namespace millrace {

struct RecordQueueOptions {
  int64_t segment_bytes = 4 << 20;  // about the size of a file
  int64_t most_bytes = 256 << 20;   // of all files; beyond it the oldest file is removed
  int64_t read_bytes = 1 << 20;     // about the size of a batch
};

// A queue of text records on disk: one thread appends, another thread removes. Records survive the
// process: a queue of the same directory continues with all records that were not removed, and may
// return the last removed records again.
//
// The directory has files "queue-NUMBER.jsonl", with a line of "CHECKSUM RECORD" for each record,
// and the file "position": the number of the oldest file and the number of its removed bytes.
// Incomplete and damaged lines are skipped.
class RecordQueue {
 public:
  // Records at the front of the queue.
  struct Batch {
    std::vector<std::string> records;
    int64_t segment = 0, end = 0;  // position behind the last record
  };

  // Opens the queue of `directory`, which is created if missing. Borrows `files`. Errors: see
  // FileSystem.
  static absl::StatusOr<std::unique_ptr<RecordQueue>> open(FileSystem& files,
                                                           const std::string& directory,
                                                           RecordQueueOptions options);

  // Appends a record, a text without line feeds. Waits for the disk at most, never for the reader.
  // Errors: see FileSystem; later records may succeed.
  absl::Status append(absl::string_view record);
  // Makes the records durable. If the last file was removed, its records are lost and the next
  // record begins another file.
  absl::Status sync();
  // Removes the records for which `unwanted` is true. REQUIRES: no append() during the call.
  absl::Status remove_if(const std::function<bool(absl::string_view record)>& unwanted);

  // Returns the oldest records, at most `most_records`; none if the queue is empty. The records
  // stay in the queue until remove(). Called by one thread.
  absl::StatusOr<Batch> peek(size_t most_records);
  // Removes the records of the last peek(). Called by the same thread as peek(). Does nothing after
  // a remove_if() in between.
  absl::Status remove(const Batch& batch);

  // Number of bytes of records that were not removed.
  int64_t bytes() const;
  // True if records were lost since the last call, because the queue was full.
  bool take_overflow();

 private:
  struct Segment {
    int64_t number = 0;
    int64_t bytes = 0;
  };

  RecordQueue(FileSystem& files, std::string directory, RecordQueueOptions options);
  absl::Status load();
  std::string segment_path(int64_t number) const;
  absl::Status open_segment() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void enforce_limit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the records of a segment from `offset` on, as far as one read goes.
  absl::StatusOr<Batch> read(const Segment& segment, int64_t offset, size_t most_records);
  // Calls `call` with all records, of which `offset` bytes of the first segment were removed.
  absl::Status for_each(const std::deque<Segment>& segments, int64_t offset,
                        const std::function<absl::Status(const std::string& record)>& call);
  // Removes the file of the oldest segment if its records were removed and no other can follow.
  bool drop_finished_segment();
  absl::Status save_position(int64_t segment, int64_t offset);

  FileSystem& files_;
  const std::string directory_;
  const RecordQueueOptions options_;

  // Held while files are read, or replaced by remove_if(). Acquired before mutex_.
  Mutex reader_mutex_;
  // Held for short times alone.
  mutable Mutex mutex_;
  std::deque<Segment> segments_ ABSL_GUARDED_BY(mutex_);        // oldest first
  int64_t offset_ ABSL_GUARDED_BY(mutex_) = 0;                  // removed bytes of the first one
  int64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;             // of a new segment
  std::unique_ptr<WritableFile> file_ ABSL_GUARDED_BY(mutex_);  // of the last segment, or null
  bool new_file_ ABSL_GUARDED_BY(mutex_) = false;  // true until the directory is durable
  bool overflow_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_RECORD_QUEUE_H_
