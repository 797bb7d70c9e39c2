#include "hooks/line_file.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

void LineFile::begin(bool continues, IsLater is_later) {
  file_.reset();
  continues_ = continues;
  is_later_ = std::move(is_later);
  if (!continues) bytes_ = 0;
}

absl::Status LineFile::append(absl::string_view line) {
  if (file_ == nullptr) RETURN_IF_ERROR(open());
  const std::string with_end = absl::StrCat(line, "\n");
  RETURN_IF_ERROR(file_->append(with_end));
  bytes_ += static_cast<int64_t>(with_end.size());
  return absl::OkStatus();
}

absl::Status LineFile::open() {
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  if (!continues_) bytes_ = 0;
  if (continues_) RETURN_IF_ERROR(drop_later_lines());
  ASSIGN_OR_RETURN(file_, continues_ ? files_.open_for_append(path_) : files_.create(path_));
  return absl::OkStatus();
}

absl::Status LineFile::drop_later_lines() {
  const absl::StatusOr<std::string> text = read_file(files_, path_);
  const int64_t before = std::exchange(bytes_, 0);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  absl::string_view old = *text;
  if (before >= 0) old = old.substr(0, static_cast<size_t>(before));
  std::string kept;
  while (!old.empty()) {
    const size_t end = old.find('\n');
    if (end == absl::string_view::npos) break;
    const absl::string_view line = old.substr(0, end);
    if (is_later_ == nullptr || !is_later_(line)) absl::StrAppend(&kept, line, "\n");
    old.remove_prefix(end + 1);
  }
  bytes_ = static_cast<int64_t>(kept.size());
  return kept == *text ? absl::OkStatus() : write_file_atomically(files_, path_, kept);
}

void LineFile::check_removed() {
  if (file_ == nullptr || !absl::IsNotFound(files_.link_info(path_).status())) return;
  file_.reset();
  continues_ = true;
  bytes_ = 0;
}

absl::Status LineFile::finish() {
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = file_->sync();
  status.Update(file_->close());
  file_.reset();
  return status;
}

}  // namespace millrace
