// A file system in memory, for tests with many file systems or a small disk.
#ifndef MILLRACE_BASE_MEMORY_FILE_SYSTEM_TESTING_H_
#define MILLRACE_BASE_MEMORY_FILE_SYSTEM_TESTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/numeric/int128.h"
#include "base/file_system.h"
#include "base/mutex.h"

namespace millrace {

// Returns a file that writes `file` from its beginning. Errors: the error of `file`.
absl::StatusOr<std::unique_ptr<WritableFile>> write_in_order(
    absl::StatusOr<std::unique_ptr<PositionedFile>> file);

// Behaves as the local file system, with regular files and directories only. Absolute and relative
// paths are equal; "" is the root, which exists from the start. Files may outlive the file system.
// Thread-safe.
class MemoryFileSystem : public FileSystem, public HardLinks {
 public:
  MemoryFileSystem();

  // Sets the maximum of bytes in all files; a file with several names counts once. Writing more
  // fails with ResourceExhausted. Default: no limit.
  void set_capacity(int64_t bytes);
  int64_t used_bytes() const;

  // Sets the content of a file and creates the directories above it.
  void put(const std::string& path, std::string content);

  // Returns a hash of all names and contents: equal trees have equal values. Ignores the content of
  // files that lock() locked, which names the holder.
  absl::uint128 fingerprint() const;

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(const std::string& path,
                                                                   const std::string&) override {
    return write_in_order(create_new(path, 0));
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override;
  absl::StatusOr<FileInfo> link_info(const std::string& path) override { return info(path); }
  // No alternatives in braces.
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override;
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override;
  absl::Status create_directories(const std::string& path) override;
  absl::Status rename(const std::string& from, const std::string& to) override;
  absl::Status link(const std::string& from, const std::string& to) override;
  absl::Status remove(const std::string& path) override;
  absl::Status sync_directory(const std::string& path) override;
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override;

  struct Node;   // a file or a directory
  struct State;  // all of them; shared with the files that were opened, which write into it

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_FILE_SYSTEM_TESTING_H_
