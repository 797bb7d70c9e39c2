// A file system that records its changes, for tests of the state after a crash.
#ifndef MILLRACE_BASE_RECORDING_FILE_SYSTEM_TESTING_H_
#define MILLRACE_BASE_RECORDING_FILE_SYSTEM_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/file_system.h"
#include "base/memory_file_system_testing.h"
#include "base/mutex.h"

namespace millrace {

// A change of files that succeeded.
struct FileOperation {
  enum class Kind {
    kCreate,         // `path` is a new file, number `file`, of `offset` zeros
    kWrite,          // `bytes` at `offset` of file number `file`
    kSync,           // of file number `file`
    kMakeDirectory,  // `path`
    kRename,         // `path` to `to`
    kLink,           // `to` is a second name of the file `path`
    kRemove,         // `path`
    kSyncDirectory,  // `path`
    kMark            // none: the test says in `path` what has been promised by now
  };
  Kind kind = Kind::kMark;
  std::string path = {};
  std::string to = {};
  int64_t file = -1;
  int64_t offset = 0;
  std::string bytes = {};
};

// Forwards every call to another file system and records changes. Locks are not recorded. Open
// files borrow this object. Thread-safe.
class RecordingFileSystem : public FileSystem, public HardLinks {
 public:
  // Borrows `under`.
  explicit RecordingFileSystem(FileSystem& under) : under_(under) {}

  // Returns the recorded changes, in order.
  std::vector<FileOperation> operations() const;
  void mark(const std::string& text) { record({FileOperation::Kind::kMark, text}); }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return under_.open(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(const std::string& path,
                                                                   const std::string&) override {
    return write_in_order(create_new(path, 0));
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override { return under_.info(path); }
  absl::StatusOr<FileInfo> link_info(const std::string& path) override {
    return under_.link_info(path);
  }
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override {
    return under_.glob(pattern);
  }
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    return under_.list(path);
  }
  absl::Status create_directories(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status link(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override {
    return under_.free_bytes(path);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    return under_.lock(path);
  }

  void record(FileOperation operation);

 private:
  int64_t record_create(const std::string& path, int64_t size_bytes);

  FileSystem& under_;
  mutable Mutex mutex_;
  std::vector<FileOperation> operations_ ABSL_GUARDED_BY(mutex_);
  int64_t created_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_RECORDING_FILE_SYSTEM_TESTING_H_
