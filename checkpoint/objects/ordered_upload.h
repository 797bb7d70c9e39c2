// A file that threads write at any place and that is uploaded from front to back.
#ifndef MILLRACE_CHECKPOINT_OBJECTS_ORDERED_UPLOAD_H_
#define MILLRACE_CHECKPOINT_OBJECTS_ORDERED_UPLOAD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/file_system.h"
#include "base/mutex.h"

namespace millrace {

// Appends to a file whose bytes are written once each. A call of write_at() waits until all bytes
// before its own have been written, so the upload holds nothing back: the caller writes its pieces
// in ascending order, begins no piece before the pieces in front are begun by other threads, and
// calls abandon() if one of them will not come. The object is whole and durable after sync().
class OrderedUpload : public PositionedFile {
 public:
  // Borrows `store`, from which sync() reads the size of the object `path` back.
  OrderedUpload(FileSystem& store, std::string path, std::unique_ptr<WritableFile> file,
                int64_t size_bytes);

  absl::Status write_at(int64_t offset, absl::string_view bytes) override;
  void abandon(const absl::Status& status) override;
  absl::Status sync() override;
  absl::Status close() override { return absl::OkStatus(); }

 private:
  absl::Status finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FileSystem& store_;
  const std::string path_;
  const int64_t size_bytes_;
  Mutex mutex_;
  std::unique_ptr<WritableFile> file_ ABSL_GUARDED_BY(mutex_);  // null: uploaded
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // the first byte that was not written
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Uploads a small object at once, and checks its size. Errors: write errors.
absl::Status put_object(FileSystem& store, const std::string& path, absl::string_view content);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_OBJECTS_ORDERED_UPLOAD_H_
