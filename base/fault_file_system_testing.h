// A file system with injected failures, for tests.
#ifndef MILLRACE_BASE_FAULT_FILE_SYSTEM_TESTING_H_
#define MILLRACE_BASE_FAULT_FILE_SYSTEM_TESTING_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace millrace {

// Passes every call on to another file system and counts them; calls inside a chosen range of
// numbers return an error instead and do nothing. So a test tries every place where an operation
// can fail:
//
//   for (int64_t n = 0;; ++n) {
//     FaultFileSystem files(FileSystem::local());
//     files.fail(n, 1, absl::UnavailableError("injected"));
//     absl::Status status = save(files, path);
//     if (files.calls() <= n) break;       // the operation makes no more calls
//     EXPECT_FALSE(status.ok());
//   }
//
// Its files and locks borrow the file system. Many threads may call it, except fail().
class FaultFileSystem : public FileSystem, public HardLinks {
 public:
  // `under` must outlive it.
  explicit FaultFileSystem(FileSystem& under) : under_(under) {}

  // Calls number `first` to first + count - 1 (from 0, counted since construction) fail.
  void fail(int64_t first, int64_t count, absl::Status error) {
    first_ = first;
    count_ = count;
    error_ = std::move(error);
  }
  // Calls so far, of the file system and of its files, failed ones included.
  int64_t calls() const { return calls_; }

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) override;
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> link_info(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status create_directories(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status link(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  // Counts one call. Returns the error of this call.
  absl::Status next_call() {
    const int64_t n = calls_++;
    return n >= first_ && n - first_ < count_ ? error_ : absl::OkStatus();
  }

 private:
  FileSystem& under_;
  std::atomic<int64_t> calls_{0};
  int64_t first_ = 0;
  int64_t count_ = 0;
  absl::Status error_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_FAULT_FILE_SYSTEM_TESTING_H_
