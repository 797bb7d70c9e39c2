#include "base/fault_file_system_testing.h"

#include "base/status_macros.h"

namespace millrace {
namespace {

class FaultReadableFile : public ReadableFile {
 public:
  FaultReadableFile(FaultFileSystem& files, std::unique_ptr<ReadableFile> under)
      : files_(files), under_(std::move(under)) {}
  const std::string& path() const override { return under_->path(); }
  int64_t size_bytes() const override { return under_->size_bytes(); }
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->read_at(offset, count, buffer);
  }
  void will_need(int64_t offset, int64_t count) override { under_->will_need(offset, count); }

 private:
  FaultFileSystem& files_;
  std::unique_ptr<ReadableFile> under_;
};

class FaultWritableFile : public WritableFile {
 public:
  FaultWritableFile(FaultFileSystem& files, std::unique_ptr<WritableFile> under)
      : files_(files), under_(std::move(under)) {}
  absl::Status append(absl::string_view bytes) override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->append(bytes);
  }
  absl::Status sync() override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->sync();
  }
  absl::Status close() override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->close();
  }

 private:
  FaultFileSystem& files_;
  std::unique_ptr<WritableFile> under_;
};

class FaultPositionedFile : public PositionedFile {
 public:
  FaultPositionedFile(FaultFileSystem& files, std::unique_ptr<PositionedFile> under)
      : files_(files), under_(std::move(under)) {}
  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->write_at(offset, bytes);
  }
  void start_writeback(int64_t offset, int64_t count) override {
    under_->start_writeback(offset, count);
  }
  absl::Status sync() override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->sync();
  }
  absl::Status close() override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->close();
  }

 private:
  FaultFileSystem& files_;
  std::unique_ptr<PositionedFile> under_;
};

class FaultFileLock : public FileLock {
 public:
  FaultFileLock(FaultFileSystem& files, std::unique_ptr<FileLock> under)
      : files_(files), under_(std::move(under)) {}
  absl::Status write(absl::string_view content) override {
    RETURN_IF_ERROR(files_.next_call());
    return under_->write(content);
  }

 private:
  FaultFileSystem& files_;
  std::unique_ptr<FileLock> under_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReadableFile>> FaultFileSystem::open(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, under_.open(path));
  return std::make_unique<FaultReadableFile>(*this, std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileSystem::create(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.create(path));
  return std::make_unique<FaultWritableFile>(*this, std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileSystem::open_for_append(
    const std::string& path) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.open_for_append(path));
  return std::make_unique<FaultWritableFile>(*this, std::move(file));
}

absl::StatusOr<FileInfo> FaultFileSystem::info(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.info(path);
}

absl::StatusOr<std::unique_ptr<PositionedFile>> FaultFileSystem::create_new(const std::string& path,
                                                                            int64_t size_bytes) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<PositionedFile> file, under_.create_new(path, size_bytes));
  return std::make_unique<FaultPositionedFile>(*this, std::move(file));
}

absl::StatusOr<std::unique_ptr<WritableFile>> FaultFileSystem::create_replacement(
    const std::string& path, const std::string& like) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.create_replacement(path, like));
  return std::make_unique<FaultWritableFile>(*this, std::move(file));
}

absl::StatusOr<FileInfo> FaultFileSystem::link_info(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.link_info(path);
}

absl::StatusOr<std::vector<DirectoryEntry>> FaultFileSystem::list(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.list(path);
}

absl::StatusOr<int64_t> FaultFileSystem::free_bytes(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.free_bytes(path);
}

absl::StatusOr<std::unique_ptr<FileLock>> FaultFileSystem::lock(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, under_.lock(path));
  if (lock == nullptr) return nullptr;
  return std::make_unique<FaultFileLock>(*this, std::move(lock));
}

absl::StatusOr<std::vector<std::string>> FaultFileSystem::glob(const std::string& pattern) {
  RETURN_IF_ERROR(next_call());
  return under_.glob(pattern);
}

absl::Status FaultFileSystem::create_directories(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.create_directories(path);
}

absl::Status FaultFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(next_call());
  return under_.rename(from, to);
}

absl::Status FaultFileSystem::link(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(next_call());
  return link_file(under_, from, to);
}

absl::Status FaultFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.remove(path);
}

absl::Status FaultFileSystem::sync_directory(const std::string& path) {
  RETURN_IF_ERROR(next_call());
  return under_.sync_directory(path);
}

}  // namespace millrace
