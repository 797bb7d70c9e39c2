#include "io/format/arrow_file.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/failure_kind.h"
#include "base/text.h"

namespace millrace {

arrow::Result<int64_t> ArrowFile::ReadAt(int64_t position, int64_t count, void* out) {
  if (position < 0 || count < 0) return arrow::Status::IOError("a negative place or length");
  const absl::StatusOr<int64_t> read = file_->read_at(position, count, out);
  if (!read.ok()) {
    if (error_.ok()) error_ = read.status();
    return arrow::Status::IOError(error_.ToString());
  }
  return *read;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::ReadAt(int64_t position, int64_t count) {
  // A damaged file may ask for any length: no more is allocated than the file can fill.
  const int64_t left = std::max<int64_t>(0, file_->size_bytes() - position);
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(std::min(count, left)));
  ARROW_ASSIGN_OR_RAISE(const int64_t read,
                        ReadAt(position, buffer->size(), buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(read));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Result<int64_t> ArrowFile::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, count, out));
  position_ += read;
  return read;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, count));
  position_ += buffer->size();
  return buffer;
}

arrow::Status ArrowFile::Seek(int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status ArrowFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

absl::Status from_arrow(const arrow::Status& status, const ArrowFile& file) {
  if (!file.error().ok()) return file.error();
  if (status.ok()) return absl::OkStatus();
  const std::string message = arrow_message(status);
  if (status.IsOutOfMemory()) return out_of_memory(message);
  return absl::DataLossError(message);
}

arrow::Status ArrowOutput::Write(const void* data, int64_t count) {
  if (file_ == nullptr) return arrow::Status::IOError("the file was given up");
  if (!error_.ok()) return arrow::Status::IOError(error_.ToString());
  error_ = file_->append({static_cast<const char*>(data), static_cast<size_t>(count)});
  if (!error_.ok()) return arrow::Status::IOError(error_.ToString());
  position_ += count;
  return arrow::Status::OK();
}

arrow::Status ArrowOutput::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

absl::Status from_arrow(const arrow::Status& status, const ArrowOutput& output) {
  if (!output.error().ok()) return output.error();
  if (status.ok()) return absl::OkStatus();
  const std::string message = arrow_message(status);
  if (status.IsOutOfMemory()) return out_of_memory(message);
  return absl::InternalError(message);
}

}  // namespace millrace
