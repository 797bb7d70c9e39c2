// A base class of file systems that forwards every call to another file system.
#ifndef MILLRACE_BASE_FORWARDING_FILE_SYSTEM_H_
#define MILLRACE_BASE_FORWARDING_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace millrace {

class ForwardingFileSystem : public FileSystem, public HardLinks {
 public:
  // Borrows `under`.
  explicit ForwardingFileSystem(FileSystem& under) : under_(under) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return under_.open(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return under_.create(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override {
    return under_.open_for_append(path);
  }
  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override {
    return under_.create_new(path, size_bytes);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) override {
    return under_.create_replacement(path, like);
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
  absl::Status create_directories(const std::string& path) override {
    return under_.create_directories(path);
  }
  absl::Status rename(const std::string& from, const std::string& to) override {
    return under_.rename(from, to);
  }
  absl::Status link(const std::string& from, const std::string& to) override {
    return link_file(under_, from, to);
  }
  absl::Status remove(const std::string& path) override { return under_.remove(path); }
  absl::Status sync_directory(const std::string& path) override {
    return under_.sync_directory(path);
  }
  absl::StatusOr<int64_t> free_bytes(const std::string& path) override {
    return under_.free_bytes(path);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    return under_.lock(path);
  }

 protected:
  FileSystem& under_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_FORWARDING_FILE_SYSTEM_H_
