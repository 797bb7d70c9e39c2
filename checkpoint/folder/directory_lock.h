// Exclusive write access to a folder of checkpoints.
#ifndef MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_
#define MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace millrace {

// The lock of a folder, held as long as the object lives: the operating system's lock on the file
// `lock` in the folder. It ends with the process, even after a crash, so a dead process never
// blocks others.
//
//   ASSIGN_OR_RETURN(auto lock, DirectoryLock::acquire(files, folder, Clock::real()));
//   ASSIGN_OR_RETURN(auto done, clean_up(files, folder));
class DirectoryLock {
 public:
  // Acquires the lock, for which it tries three times within 40 ms. Makes the folder if it is
  // missing, and its place durable. Writes `token` to the lock file, for check_owner(); "": a new
  // one. Errors: FailedPrecondition of kind kBusy (base/failure_kind.h) naming the folder and the
  // holder, by host, process and time of acquisition; write errors, such as PermissionDenied for a
  // read-only folder.
  static absl::StatusOr<std::unique_ptr<DirectoryLock>> acquire(FileSystem& files,
                                                                const std::string& folder,
                                                                const Clock& clock,
                                                                absl::string_view token = "");

  int64_t generation() const { return lock_->generation(); }  // as FileLock has it

 private:
  explicit DirectoryLock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

  const std::unique_ptr<FileLock> lock_;
};

// Checks that no other process has acquired the lock of `folder` after the one that wrote `token`,
// which may not know: a network file system drops the lock of a machine that it does not hear from.
// A process compares before it renames or removes anything that another owner of the folder may
// use; between the comparison and the change the folder can still be lost. "": not compared.
// Errors: Aborted naming the folder and the other process; read errors. A missing lock file is no
// error, since its folder was removed or moved.
absl::Status check_owner(FileSystem& files, const std::string& folder, absl::string_view token);

// Returns true if the file is a lock that DirectoryLock made, held or not: its first line names a
// host, a process and a time. Returns false for a lock without text, left by a process that was
// killed before writing.
bool is_directory_lock(FileSystem& files, const std::string& path);

// Returns true if a process holds the lock at `path`, a local file. Holds a shared lock for some
// microseconds, after which acquire() tries again. Returns false if there is no file. Errors:
// Unavailable if the file cannot be opened or locked.
absl::StatusOr<bool> is_lock_held(const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_
