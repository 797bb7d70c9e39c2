#include "checkpoint/folder/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/failure_kind.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/chunked_file.h"

namespace millrace {
namespace {

constexpr int64_t kMaxHolderBytes = 4096;

// "host a pid 12 since 2026-01-02T03:04:05Z"
std::string this_process(const Clock& clock) {
  return absl::StrCat("host ", host_name(), " pid ", ::getpid(), " since ",
                      absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", clock.now(), absl::UTCTimeZone()));
}

std::string lock_path(const std::string& folder) { return join_path(folder, "lock"); }

// Returns the holder that the first line of a lock file names. A process that has just acquired the
// lock may not have written to the file yet.
std::string holder(const absl::StatusOr<std::string>& content) {
  if (!content.ok() || content->empty()) return "another process";
  return absl::CHexEscape(absl::StripAsciiWhitespace(content->substr(0, content->find('\n'))));
}

// Returns the second line of a lock file.
std::string token_line(absl::string_view token) { return absl::StrCat("run ", token, "\n"); }

// Locks a file; returns null if another object holds the lock. Tries three times within 40 ms,
// since is_lock_held() of another process may hold the lock for some microseconds.
absl::StatusOr<std::unique_ptr<FileLock>> lock_file(FileSystem& files, const std::string& path) {
  for (int tries_left = 2;; --tries_left) {
    ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, files.lock(path));
    if (lock != nullptr || tries_left == 0) return lock;
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// Makes the names of a folder and its parents durable: losing a single name would lose all saved
// files. Directories further up may belong to other owners and may be impossible to open or sync;
// their durability is the owners' responsibility.
absl::Status sync_way_to(FileSystem& files, const std::string& folder) {
  std::string above = directory_of(folder);
  const absl::Status status = files.sync_directory(above);
  if (!status.ok() && !absl::IsPermissionDenied(status)) return status;
  while (above != directory_of(above)) {
    above = directory_of(above);
    files.sync_directory(above).IgnoreError();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<DirectoryLock>> DirectoryLock::acquire(FileSystem& files,
                                                                      const std::string& folder,
                                                                      const Clock& clock,
                                                                      absl::string_view token) {
  const std::string path = lock_path(folder);
  RETURN_IF_ERROR(files.create_directories(folder));
  ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, lock_file(files, path));
  if (lock == nullptr) {
    return with_kind(absl::FailedPreconditionError(
                         absl::StrCat("another run writes in ", folder, ": ",
                                      holder(read_regular_file(files, path, kMaxHolderBytes)),
                                      "; wait for it, stop it, or choose another output_dir")),
                     FailureKind::kBusy);
  }
  const std::string drawn = token.empty() ? new_nonce() : std::string(token);
  RETURN_IF_ERROR(lock->write(absl::StrCat(this_process(clock), "\n", token_line(drawn))));
  RETURN_IF_ERROR(sync_way_to(files, folder));
  return std::unique_ptr<DirectoryLock>(new DirectoryLock(std::move(lock)));
}

absl::Status check_owner(FileSystem& files, const std::string& folder, absl::string_view token) {
  if (token.empty()) return absl::OkStatus();
  const auto content = read_regular_file(files, lock_path(folder), kMaxHolderBytes);
  if (absl::IsNotFound(content.status())) return absl::OkStatus();
  RETURN_IF_ERROR(content.status());
  if (absl::EndsWith(*content, "\n" + token_line(token))) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      folder, " was taken by another run while this process stood still or had lost the disk: ",
      holder(content),
      "; this run changes nothing there any more; let the other run continue, or "
      "stop it and start this one again"));
}

bool is_directory_lock(FileSystem& files, const std::string& path) {
  const auto content = read_regular_file(files, path, kMaxHolderBytes);
  if (!content.ok()) return false;
  const std::vector<std::string> words =
      absl::StrSplit(content->substr(0, content->find('\n')), ' ');
  absl::Time since;
  int64_t process = 0;
  return words.size() == 6 && words[0] == "host" && words[2] == "pid" && words[4] == "since" &&
         absl::SimpleAtoi(words[3], &process) &&
         absl::ParseTime(absl::RFC3339_full, words[5], &since, nullptr);
}

absl::StatusOr<bool> is_lock_held(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return false;
  const bool locked = fd >= 0 && ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (locked) return false;
  if (fd >= 0 && error == EWOULDBLOCK) return true;
  return absl::UnavailableError(
      absl::StrCat("cannot check the lock ", path, ": ", std::strerror(error)));
}

}  // namespace millrace
