#include "checkpoint/objects/ordered_upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// A service that answers although it lost a part of a body stores another object.
absl::Status check_size(FileSystem& store, const std::string& path, int64_t size_bytes) {
  ASSIGN_OR_RETURN(const FileInfo info, store.info(path));
  if (info.size_bytes == size_bytes) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", size_bytes,
                                             " bytes were sent, but the store has ",
                                             info.size_bytes));
}

}  // namespace

OrderedUpload::OrderedUpload(FileSystem& store, std::string path,
                             std::unique_ptr<WritableFile> file, int64_t size_bytes)
    : store_(store), path_(std::move(path)), size_bytes_(size_bytes), file_(std::move(file)) {}

absl::Status OrderedUpload::write_at(int64_t offset, absl::string_view bytes) {
  MutexLock lock(mutex_);
  mutex_.await([&] { return next_ == offset || !status_.ok(); });
  RETURN_IF_ERROR(status_);
  status_ = file_->append(bytes);
  next_ += bytes.size();
  if (status_.ok() && next_ == size_bytes_) status_ = finish();
  return status_;
}

void OrderedUpload::abandon(const absl::Status& status) {
  MutexLock lock(mutex_);
  status_.Update(status);
}

// Completes the upload with the last byte, so that files that wait for their sync hold no part.
absl::Status OrderedUpload::finish() {
  RETURN_IF_ERROR(file_->close());
  file_.reset();
  return check_size(store_, path_, size_bytes_);
}

absl::Status OrderedUpload::sync() {
  MutexLock lock(mutex_);
  if (status_.ok() && next_ != size_bytes_) {
    status_ = absl::InternalError(
        absl::StrCat(path_, " has ", size_bytes_, " bytes, of which ", next_, " were written"));
  }
  if (status_.ok() && file_ != nullptr) status_ = finish();  // an empty file
  return status_;
}

absl::Status put_object(FileSystem& store, const std::string& path, absl::string_view content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, store.create(path));
  RETURN_IF_ERROR(file->append(content));
  RETURN_IF_ERROR(file->close());
  return check_size(store, path, content.size());
}

}  // namespace millrace
