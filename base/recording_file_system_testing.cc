#include "base/recording_file_system_testing.h"

#include "base/status_macros.h"

namespace millrace {
namespace {

using Kind = FileOperation::Kind;

// Both kinds of files that are written.
class RecordingFile : public WritableFile, public PositionedFile {
 public:
  RecordingFile(RecordingFileSystem& files, int64_t number, int64_t size,
                std::unique_ptr<WritableFile> appended, std::unique_ptr<PositionedFile> positioned)
      : files_(files),
        number_(number),
        size_(size),
        appended_(std::move(appended)),
        positioned_(std::move(positioned)) {}

  absl::Status append(absl::string_view bytes) override {
    RETURN_IF_ERROR(appended_->append(bytes));
    files_.record({Kind::kWrite, "", "", number_, size_, std::string(bytes)});
    size_ += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  }
  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    RETURN_IF_ERROR(positioned_->write_at(offset, bytes));
    files_.record({Kind::kWrite, "", "", number_, offset, std::string(bytes)});
    return absl::OkStatus();
  }
  void start_writeback(int64_t offset, int64_t count) override {
    positioned_->start_writeback(offset, count);
  }
  absl::Status sync() override {
    RETURN_IF_ERROR(appended_ ? appended_->sync() : positioned_->sync());
    files_.record({Kind::kSync, "", "", number_});
    return absl::OkStatus();
  }
  absl::Status close() override { return appended_ ? appended_->close() : positioned_->close(); }

 private:
  RecordingFileSystem& files_;
  const int64_t number_;
  int64_t size_;
  const std::unique_ptr<WritableFile> appended_;
  const std::unique_ptr<PositionedFile> positioned_;
};

}  // namespace

std::vector<FileOperation> RecordingFileSystem::operations() const {
  MutexLock lock(mutex_);
  return operations_;
}

void RecordingFileSystem::record(FileOperation operation) {
  MutexLock lock(mutex_);
  operations_.push_back(std::move(operation));
}

int64_t RecordingFileSystem::record_create(const std::string& path, int64_t size_bytes) {
  MutexLock lock(mutex_);
  operations_.push_back({Kind::kCreate, path, "", created_, size_bytes});
  return created_++;
}

absl::StatusOr<std::unique_ptr<WritableFile>> RecordingFileSystem::create(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.create(path));
  const int64_t number = record_create(path, 0);
  return std::make_unique<RecordingFile>(*this, number, 0, std::move(file), nullptr);
}

// Recorded as a new file with what was there, unless nothing was.
absl::StatusOr<std::unique_ptr<WritableFile>> RecordingFileSystem::open_for_append(
    const std::string& path) {
  const absl::StatusOr<std::string> content = read_file(under_, path);
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, under_.open_for_append(path));
  const int64_t number = record_create(path, 0);
  const std::string start = content.value_or("");
  if (!start.empty()) record({Kind::kWrite, "", "", number, 0, start});
  return std::make_unique<RecordingFile>(*this, number, start.size(), std::move(file), nullptr);
}

absl::StatusOr<std::unique_ptr<PositionedFile>> RecordingFileSystem::create_new(
    const std::string& path, int64_t size_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<PositionedFile> file, under_.create_new(path, size_bytes));
  const int64_t number = record_create(path, size_bytes);
  return std::make_unique<RecordingFile>(*this, number, 0, nullptr, std::move(file));
}

absl::Status RecordingFileSystem::create_directories(const std::string& path) {
  std::vector<std::string> missing;
  std::string above = path;
  while (!above.empty() && above != "." && !under_.info(above).ok()) {
    missing.push_back(above);
    if (above == directory_of(above)) break;
    above = directory_of(above);
  }
  RETURN_IF_ERROR(under_.create_directories(path));
  for (auto made = missing.rbegin(); made != missing.rend(); ++made) {
    record({Kind::kMakeDirectory, *made});
  }
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(under_.rename(from, to));
  record({Kind::kRename, from, to});
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::link(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(link_file(under_, from, to));
  record({Kind::kLink, from, to});
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::remove(const std::string& path) {
  RETURN_IF_ERROR(under_.remove(path));
  record({Kind::kRemove, path});
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::sync_directory(const std::string& path) {
  RETURN_IF_ERROR(under_.sync_directory(path));
  record({Kind::kSyncDirectory, path});
  return absl::OkStatus();
}

}  // namespace millrace
