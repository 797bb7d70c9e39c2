#include "sinks/tensorboard/event_file.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/checksum/crc32c.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kVersion[] = "brain.Event:2";

std::string length_of(absl::string_view data) {
  ByteWriter writer;
  writer.write_uint64(data.size());
  return writer.take();
}

}  // namespace

std::string tfrecord(absl::string_view data) {
  const std::string length = length_of(data);
  ByteWriter length_check, data_check;
  length_check.write_uint32(masked_crc32c(length));
  data_check.write_uint32(masked_crc32c(data));
  return absl::StrCat(length, length_check.bytes(), data, data_check.bytes());
}

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

absl::StatusOr<std::vector<tensorboard::Event>> read_events(absl::string_view bytes) {
  std::vector<tensorboard::Event> events;
  while (!bytes.empty()) {
    const std::string where = absl::StrCat("event ", events.size());
    ByteReader head(bytes.substr(0, 12));
    const uint64_t length = head.read_uint64();
    const uint32_t length_check = head.read_uint32();
    if (!head.ok() || masked_crc32c(bytes.substr(0, 8)) != length_check) {
      return absl::DataLossError(absl::StrCat(where, ": the length is damaged"));
    }
    bytes.remove_prefix(12);
    if (bytes.size() < 4 || bytes.size() - 4 < length) {
      return absl::DataLossError(absl::StrCat(where, ": the file is cut short"));
    }
    const absl::string_view data = bytes.substr(0, length);
    ByteReader tail(bytes.substr(length, 4));
    if (!events.emplace_back().ParseFromArray(data.data(), static_cast<int>(data.size())) ||
        tail.read_uint32() != masked_crc32c(data)) {
      return absl::DataLossError(absl::StrCat(where, ": the data is damaged"));
    }
    bytes.remove_prefix(length + 4);
  }
  return events;
}

}  // namespace millrace
