#include "sinks/tensorboard/event_file.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/checksum/crc32c.h"
#include "base/checksum/tfrecord.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kVersion[] = "brain.Event:2";

constexpr int64_t kHeadBytes = 12;  // the length and its checksum
constexpr int64_t kTailBytes = 4;
constexpr int64_t kReadBytes = 1 << 20;

// Removes the first record of `bytes` and parses its data. Returns: false if the record is not
// whole. Errors: DataLoss for damaged bytes.
absl::StatusOr<bool> next_event(absl::string_view& bytes, tensorboard::Event& event) {
  if (bytes.size() < kHeadBytes) return false;
  ByteReader head(bytes.substr(0, kHeadBytes));
  const uint64_t length = head.read_uint64();
  if (masked_crc32c(bytes.substr(0, 8)) != head.read_uint32()) {
    return absl::DataLossError("the length is damaged");
  }
  const absl::string_view rest = bytes.substr(kHeadBytes);
  if (rest.size() < kTailBytes || rest.size() - kTailBytes < length) return false;
  const absl::string_view data = rest.substr(0, length);
  ByteReader tail(rest.substr(length, kTailBytes));
  if (!event.ParseFromArray(data.data(), static_cast<int>(data.size())) ||
      tail.read_uint32() != masked_crc32c(data)) {
    return absl::DataLossError("the data is damaged");
  }
  bytes = rest.substr(length + kTailBytes);
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::create(FileSystem& files,
                                                             const std::string& path,
                                                             double wall_time) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> opened, files.create(path));
  std::unique_ptr<EventFile> file(new EventFile(files, path, std::move(opened)));
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version(kVersion);
  RETURN_IF_ERROR(file->write(event));
  return file;
}

absl::Status EventFile::write(const tensorboard::Event& event) {
  return file_->append(tfrecord(event.SerializeAsString()));
}

absl::Status EventFile::flush() {
  RETURN_IF_ERROR(file_->sync());
  if (new_file_) RETURN_IF_ERROR(files_.sync_directory(directory_of(path_)));
  new_file_ = false;
  return absl::OkStatus();
}

absl::StatusOr<EventReader> EventReader::open(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  return EventReader(std::move(file));
}

absl::StatusOr<bool> EventReader::next(tensorboard::Event& event) {
  for (;;) {
    absl::string_view rest = absl::string_view(buffer_).substr(begin_);
    ASSIGN_OR_RETURN(const bool found, next_event(rest, event), file_->path());
    begin_ = buffer_.size() - rest.size();
    if (found) return true;
    buffer_.erase(0, std::exchange(begin_, 0));
    const size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);
    ASSIGN_OR_RETURN(const int64_t got, file_->read_at(offset_, kReadBytes, buffer_.data() + kept));
    buffer_.resize(kept + static_cast<size_t>(got));
    offset_ += got;
    if (got == 0) return false;
  }
}

absl::StatusOr<std::vector<tensorboard::Event>> read_events(absl::string_view bytes) {
  std::vector<tensorboard::Event> events;
  while (!bytes.empty()) {
    const std::string where = absl::StrCat("event ", events.size());
    ASSIGN_OR_RETURN(const bool whole, next_event(bytes, events.emplace_back()), where);
    if (!whole) return absl::DataLossError(absl::StrCat(where, ": the file is cut short"));
  }
  return events;
}

}  // namespace millrace
