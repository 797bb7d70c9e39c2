#include "io/format/arrow_output.h"

#include <string>

#include "absl/strings/string_view.h"
#include "base/failure_kind.h"
#include "io/format/arrow_message.h"

namespace millrace {

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
