// A replaceable file system, so that tests can fail a write or count bytes.
#ifndef MILLRACE_BASE_FILE_SYSTEM_H_
#define MILLRACE_BASE_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace millrace {

// A file open for reading at any place. Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual const std::string& path() const = 0;
  virtual int64_t size_bytes() const = 0;  // when it was opened
  // Fills `buffer` from `offset`. Returns the number of bytes read, fewer than `count` only at the
  // end of the file.
  virtual absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) = 0;
  // Announces a read of these bytes in the near future, so that the system can fetch them. The
  // default does nothing.
  virtual void will_need(int64_t offset, int64_t count) {}
};

// A file open for writing, one piece after the other. Not thread-safe. Bytes may be lost until
// sync() succeeded; after a failed write or sync the file must be discarded.
class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes; errors are lost, so call close() first
  virtual absl::Status append(absl::string_view bytes) = 0;
  virtual absl::Status sync() = 0;
  virtual absl::Status close() = 0;
};

// A new file of a known size, written at any place. Many threads may call write_at() at once; bytes
// that were not written read as zeros. Otherwise as WritableFile.
class PositionedFile {
 public:
  virtual ~PositionedFile() = default;  // closes; errors are lost, so call close() first
  virtual absl::Status write_at(int64_t offset, absl::string_view bytes) = 0;
  // Announces that these bytes are final, so that the system may begin to write to disk and a later
  // sync() is faster. The default does nothing.
  virtual void start_writeback(int64_t offset, int64_t count) {}
  // Announces that some bytes will not be written, for the reason `status`: calls of write_at()
  // that wait for those bytes return `status`. The default does nothing.
  virtual void abandon(const absl::Status& status) {}
  virtual absl::Status sync() = 0;
  virtual absl::Status close() = 0;
};

// A lock that this process holds until the object is destroyed or the process ends, even by a
// crash.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // Replaces the content of the locked file.
  virtual absl::Status write(absl::string_view content) = 0;
  // Number of times that the file was locked, this time included; 0: not counted.
  virtual int64_t generation() const { return 0; }
};

enum class FileKind { kRegular, kDirectory, kSymbolicLink, kOther };

struct FileInfo {
  int64_t size_bytes = 0;
  bool is_directory = false;
  FileKind kind = FileKind::kRegular;
  // Time of the last change of the content; of a directory, of its entries. Default: unknown.
  absl::Time modified = absl::InfiniteFuture();
};

struct DirectoryEntry {
  std::string name;  // without the directory
  FileKind kind = FileKind::kRegular;

  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};

// Every error names the path. Thread-safe. Codes of
//   reading (open, read_at, info, link_info, glob, list, free_bytes): NotFound (missing),
//   FailedPrecondition (a directory in place of a file or the reverse), Unavailable (not allowed,
//   or any other I/O error);
//   writing (all others): PermissionDenied (not allowed; a directory of the path is missing or is
//   no directory; or a directory is in place of a file), ResourceExhausted (disk full), Unavailable
//   (any other I/O error).
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  // Creates the file, or empties an existing file.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;
  // Opens the file at its end; creates a missing file. For lines after the lines of an earlier run.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(
      const std::string& path) = 0;
  // Creates a new file. Reserves room for its bytes if the system can. Errors: PermissionDenied
  // also if the name exists, even as a symbolic link.
  virtual absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                                     int64_t size_bytes) = 0;
  // Creates a new file for a later rename to `like`. The new file gets the permissions and the
  // group of an existing file `like`; if the process may not set the group, the new file has no
  // permissions for a group. Errors: as create_new().
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) = 0;
  virtual absl::StatusOr<FileInfo> info(const std::string& path) = 0;
  // Returns the same for a symbolic link itself, without following the link.
  virtual absl::StatusOr<FileInfo> link_info(const std::string& path) = 0;
  // Returns the paths that match a shell pattern (* ? [...] {a,b}), sorted by name; none if nothing
  // matches or a directory is missing.
  virtual absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) = 0;
  // Returns the entries of a directory, sorted by name.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) = 0;
  // Creates a directory and the directories above it. Accepts an existing directory.
  virtual absl::Status create_directories(const std::string& path) = 0;
  // Renames `from` to `to` atomically, and replaces an existing `to`. Errors: PermissionDenied also
  // if both are on different file systems.
  virtual absl::Status rename(const std::string& from, const std::string& to) = 0;
  // Removes a file, an empty directory, or a symbolic link itself.
  virtual absl::Status remove(const std::string& path) = 0;
  virtual absl::Status sync_directory(const std::string& path) = 0;
  // Returns the free bytes for unprivileged users on the disk of this directory.
  virtual absl::StatusOr<int64_t> free_bytes(const std::string& path) = 0;
  // Locks a file, which is created if missing, without waiting. Returns null if another object, in
  // this or another process, holds the lock. Errors: as for writing.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  // Returns the machine's file system, which lives as long as the process.
  static FileSystem& local();
};

absl::StatusOr<std::string> read_file(FileSystem& files, const std::string& path);

// Removes a file, or a directory with its content. Removes symbolic links without following them.
absl::Status remove_recursively(FileSystem& files, const std::string& path);

// Returns the path of this process's temporary file for `path`.
std::string aside_path(const std::string& path);
// Creates the file aside_path(path) with the permissions of the file `path`, if there is one.
// Removes the file of a killed process; follows no symbolic link. Errors: as create_new().
absl::StatusOr<std::unique_ptr<WritableFile>> create_aside(FileSystem& files,
                                                           const std::string& path);

// Writes a temporary file, syncs, renames and syncs the directory, so that `path` holds either its
// old or its complete new content, durably once the call returns OK. Keeps the permissions of an
// existing file. Replaces a symbolic link without following it. Errors: as for writing; after a
// failed sync of the directory, `path` holds the new content. An object behind a URI is uploaded in
// place of an earlier one.
absl::Status write_file_atomically(FileSystem& files, const std::string& path,
                                   absl::string_view content);
// Does the same for content that is written piece by piece. Returns an error of `write`.
absl::Status write_file_atomically(FileSystem& files, const std::string& path,
                                   const std::function<absl::Status(WritableFile&)>& write);

// directory_of() returns the directory of `path`, "." for a bare name; base_name() returns the last
// name of `path`.
std::string directory_of(const std::string& path);
std::string base_name(const std::string& path);

// Returns true if a path begins with a scheme: SCHEME://...
bool is_uri(const std::string& path);

// Returns true for a URI of a bucket of objects: s3, gs, gcs.
bool is_bucket(absl::string_view path);

// Checks that a URI of a bucket (s3, gs, gcs) has no user or password, as in
// s3://KEY:SECRET@BUCKET/NAME: logs, checkpoints and sinks would show both. OK for all other paths.
// Errors: InvalidArgument without the URI.
absl::Status check_bucket(absl::string_view path);

// Returns `path` as an absolute path, relative to the working directory of the process; a URI
// unchanged.
std::string absolute_path(const std::string& path);

// Returns `base` and `path` joined by one slash; only `path` if it is absolute or `base` is empty.
std::string join_path(absl::string_view base, absl::string_view path);

// Implemented by a FileSystem whose files can have several names, in addition to that class.
// Thread-safe.
class HardLinks {
 public:
  virtual ~HardLinks() = default;
  // Makes the bytes of the file `from` durable and gives the file a second name. The bytes are
  // stored once, until the last name is removed. The new name is durable after sync_directory().
  // Errors: as FileSystem has for writing; PermissionDenied also if `to` exists; Unavailable if the
  // disk does not support hard links.
  virtual absl::Status link(const std::string& from, const std::string& to) = 0;
};

// Calls HardLinks::link() of `files`. Errors: as HardLinks::link(); Unimplemented if `files` is no
// HardLinks.
template <typename Files>
absl::Status link_file(Files& files, const std::string& from, const std::string& to) {
  auto* const links = dynamic_cast<HardLinks*>(&files);
  if (links != nullptr) return links->link(from, to);
  return absl::UnimplementedError("this file system has no hard links");
}

}  // namespace millrace

#endif  // MILLRACE_BASE_FILE_SYSTEM_H_
