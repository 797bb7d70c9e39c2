// Who may write in a folder of checkpoints.
#ifndef MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_
#define MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace millrace {

// The lock of a folder, held as long as the object lives. It is the system's lock on the file
// `lock` in it, so it ends with the process, however that ends: what a dead one left never blocks.
//
//   ASSIGN_OR_RETURN(auto lock, DirectoryLock::acquire(files, folder, Clock::real()));
//   ASSIGN_OR_RETURN(auto done, clean_up(files, folder));
class DirectoryLock {
 public:
  // Makes the folder if it is missing, and its place durable. Does not wait.
  // Errors: FailedPrecondition naming the folder and who holds it, by host and process, and since
  // when; those of writing, such as PermissionDenied for a folder that is read-only.
  static absl::StatusOr<std::unique_ptr<DirectoryLock>> acquire(FileSystem& files,
                                                                const std::string& folder,
                                                                const Clock& clock);

 private:
  explicit DirectoryLock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

  const std::unique_ptr<FileLock> lock_;
};

// True if the file is a lock that DirectoryLock made, held or not: its first line says by which
// host and process, and since when. A lock that was never written to, as in a process that was
// killed, is none.
bool is_directory_lock(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_DIRECTORY_LOCK_H_
