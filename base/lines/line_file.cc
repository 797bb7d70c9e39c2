#include "base/lines/line_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/lines/file_lines.h"
#include "base/status_macros.h"

namespace millrace {

void LineFile::begin(bool continues, IsLater is_later) {
  file_.reset();
  opened_ = false;
  unfinished_.clear();
  continues_ = continues;
  is_later_ = std::move(is_later);
  if (!continues) bytes_ = 0;
}

absl::Status LineFile::append(absl::string_view line) {
  RETURN_IF_ERROR(opened_ ? finish_line() : open());
  std::string text = absl::StrCat(line, "\n");
  const absl::Status status = file_->append(text);
  if (status.ok()) {
    bytes_ += static_cast<int64_t>(text.size());
  } else {
    // The file may have a part of the line.
    unfinished_ = std::move(text);
    file_.reset();
  }
  return status;
}

absl::Status LineFile::open() {
  if (opened_) return absl::OkStatus();
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  if (continues_) {
    LineReaderOptions options;
    if (bytes_ >= 0) options.most_bytes = bytes_;
    ASSIGN_OR_RETURN(bytes_, rewrite_lines(files_, path_, options, [this](std::string& line) {
                       return is_later_ == nullptr || !is_later_(line);
                     }));
  } else {
    bytes_ = 0;
  }
  ASSIGN_OR_RETURN(file_, continues_ ? files_.open_for_append(path_) : files_.create(path_));
  new_file_ = true;
  opened_ = true;
  return absl::OkStatus();
}

// Invariant: after an error the file has bytes_ bytes and then a part of unfinished_, unless
// another program changed the file.
absl::Status LineFile::finish_line() {
  if (file_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string tail, read_tail());
  std::unique_ptr<WritableFile> file;
  ASSIGN_OR_RETURN(file, files_.open_for_append(path_));
  RETURN_IF_ERROR(file->append(absl::string_view(unfinished_).substr(tail.size())));
  bytes_ += static_cast<int64_t>(std::exchange(unfinished_, "").size());
  file_ = std::move(file);
  return absl::OkStatus();
}

// Returns the written part of the unfinished line. Truncates the file if it has other bytes.
absl::StatusOr<std::string> LineFile::read_tail() {
  const auto file = files_.open(path_);
  if (file.ok()) {
    const int64_t size = (*file)->size_bytes() - bytes_;
    if (size >= 0 && size <= static_cast<int64_t>(unfinished_.size())) {
      std::string tail(static_cast<size_t>(size), '\0');
      ASSIGN_OR_RETURN(const int64_t got, (*file)->read_at(bytes_, size, tail.data()));
      if (got == size && absl::StartsWith(unfinished_, tail)) return tail;
    }
  } else if (!absl::IsNotFound(file.status())) {
    return file.status();
  }
  ASSIGN_OR_RETURN(bytes_, rewrite_lines(files_, path_, {.most_bytes = bytes_}, nullptr));
  return "";
}

absl::Status LineFile::sync() {
  if (!opened_) return absl::OkStatus();
  const absl::Status found = files_.link_info(path_).status();
  if (absl::IsNotFound(found)) return absl::OkStatus();
  RETURN_IF_ERROR(found);
  RETURN_IF_ERROR(finish_line());
  if (const absl::Status status = file_->sync(); !status.ok()) {
    file_.reset();
    return status;
  }
  if (new_file_) RETURN_IF_ERROR(files_.sync_directory(directory_of(path_)));
  new_file_ = false;
  return absl::OkStatus();
}

void LineFile::check_removed() {
  if (!opened_ || !absl::IsNotFound(files_.link_info(path_).status())) return;
  file_.reset();
  opened_ = false;
  unfinished_.clear();
  continues_ = true;
  bytes_ = 0;
}

absl::Status LineFile::finish() {
  absl::Status status = sync();
  if (file_ != nullptr) status.Update(file_->close());
  file_.reset();
  opened_ = false;
  return status;
}

}  // namespace millrace
