// The lock of a folder in an object store: an object that its holder keeps renewing.
#ifndef MILLRACE_CHECKPOINT_OBJECTS_OBJECT_LEASE_H_
#define MILLRACE_CHECKPOINT_OBJECTS_OBJECT_LEASE_H_

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/mutex.h"

namespace millrace {

// The lines of a lease. Between the holder's first line and its other lines, which write() gave, is
//   lease NONCE generation G renewed N period P
// with P in milliseconds. A released lease begins with "free".
struct LeaseText {
  std::string nonce;  // of the object that holds the lease
  int64_t generation = 0;
  int64_t renewed = 0;
  absl::Duration period;
  bool is_free = false;
};
std::optional<LeaseText> parse_lease(absl::string_view text);

// Holds the lease until it is destroyed. A thread renews it, three times in a period. The holder
// dies when nobody renews: another process that has seen the same text for a period takes the
// lease. A holder that finds another text, such as after it stood still, does not take the lease
// back.
//
// An object store compares and replaces in two requests, so two processes may both believe to hold
// the lease for a moment. Whoever writes under it reads it again before each commit (check_owner()
// of checkpoint/folder/directory_lock.h): that detects a second writer, and does not exclude it.
class ObjectLease : public FileLock {
 public:
  // Takes the lease. Waits for a period if the lease is neither free nor renewed, and for a tenth
  // of the period for another process that takes it too. Returns null if another process holds it.
  // Borrows `store`. Errors: read and write errors.
  static absl::StatusOr<std::unique_ptr<FileLock>> acquire(FileSystem& store,
                                                           const std::string& path,
                                                           absl::Duration period, Clock& clock);
  ~ObjectLease() override;

  absl::Status write(absl::string_view content) override;
  int64_t generation() const override { return generation_; }

 private:
  ObjectLease(FileSystem& store, std::string path, absl::Duration period, int64_t generation);
  std::string text() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if the text of a lease, which may be "", is of this object.
  bool is_own(absl::string_view text) const;
  void renew();

  FileSystem& store_;
  const std::string path_;
  const absl::Duration period_;
  const std::string nonce_;
  const int64_t generation_;
  Mutex mutex_;
  std::string first_ ABSL_GUARDED_BY(mutex_), rest_ ABSL_GUARDED_BY(mutex_);  // of the content
  int64_t renewed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread renewer_;
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_OBJECTS_OBJECT_LEASE_H_
