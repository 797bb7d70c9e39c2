#include "base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

absl::Status errno_status(absl::StatusCode code, int error, absl::string_view doing,
                          const std::string& path) {
  return absl::Status(code, absl::StrCat("cannot ", doing, " ", path, ": ", std::strerror(error)));
}

absl::Status read_error(int error, absl::string_view doing, const std::string& path) {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  if (error == ENOENT) code = absl::StatusCode::kNotFound;
  if (error == EISDIR || error == ENOTDIR) code = absl::StatusCode::kFailedPrecondition;
  return errno_status(code, error, doing, path);
}

absl::Status write_error(int error, absl::string_view doing, const std::string& path) {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case EACCES:
    case EPERM:
    case EXDEV:  // a rename to another file system
    case EROFS: code = absl::StatusCode::kPermissionDenied; break;
    case ENOSPC:
    case EFBIG:  // the limit of file sizes
    case EDQUOT: code = absl::StatusCode::kResourceExhausted; break;
    default: break;
  }
  return errno_status(code, error, doing, path);
}

// The error by which glob() could not read a directory. A missing directory is no error and matches
// nothing.
thread_local int listing_error = 0;
int keep_listing_error(const char*, int error) {
  listing_error = error;
  return error == ENOENT || error == ENOTDIR ? 0 : 1;
}

class LocalReadableFile : public ReadableFile {
 public:
  LocalReadableFile(int fd, std::string path, int64_t size)
      : fd_(fd), path_(std::move(path)), size_(size) {}
  ~LocalReadableFile() override { ::close(fd_); }
  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return size_; }

  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    int64_t done = 0;
    while (done < count) {
      const ssize_t n =
          ::pread(fd_, static_cast<char*>(buffer) + done, count - done, offset + done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return read_error(errno, "read", path_);
      if (n == 0) break;
      done += n;
    }
    return done;
  }
  // One call fetches at most the read-ahead of Linux, by default 128 KiB.
  void will_need(int64_t offset, int64_t count) override {
    constexpr int64_t kAtOnce = 128 << 10;
    for (int64_t at = offset; at < offset + count; at += kAtOnce) {
      ::posix_fadvise(fd_, at, std::min(kAtOnce, offset + count - at), POSIX_FADV_WILLNEED);
    }
  }

 private:
  const int fd_;
  const std::string path_;
  const int64_t size_;
};

// A pipe, a terminal or a device: bytes come once, in their order, and how many is not known.
class LocalStreamFile : public ReadableFile {
 public:
  LocalStreamFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~LocalStreamFile() override { ::close(fd_); }
  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return 0; }

  // REQUIRES: `offset` is where the last read ended.
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    const MutexLock lock(mutex_);
    if (offset != position_) return read_error(ESPIPE, "read", path_);
    int64_t done = 0;
    while (done < count) {
      const ssize_t n = ::read(fd_, static_cast<char*>(buffer) + done, count - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return read_error(errno, "read", path_);
      if (n == 0) break;
      done += n;
    }
    position_ += done;
    return done;
  }

 private:
  const int fd_;
  const std::string path_;
  Mutex mutex_;
  int64_t position_ ABSL_GUARDED_BY(mutex_) = 0;
};

class LocalWritableFile : public WritableFile {
 public:
  LocalWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~LocalWritableFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error(errno, "write", path_);
      bytes.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  absl::Status sync() override {
    if (::fsync(fd_) != 0) return write_error(errno, "sync", path_);
    return absl::OkStatus();
  }

  absl::Status close() override {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && ::close(fd) != 0) return write_error(errno, "close", path_);
    return absl::OkStatus();
  }

 private:
  int fd_;
  const std::string path_;
};

class LocalPositionedFile : public PositionedFile {
 public:
  LocalPositionedFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~LocalPositionedFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status write_at(int64_t offset, absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error(errno, "write", path_);
      bytes.remove_prefix(n);
      offset += n;
    }
    return absl::OkStatus();
  }

  void start_writeback(int64_t offset, int64_t count) override {
    // Errors of writing show in sync.
    (void)::sync_file_range(fd_, offset, count, SYNC_FILE_RANGE_WRITE);
  }

  absl::Status sync() override {
    if (::fsync(fd_) != 0) return write_error(errno, "sync", path_);
    return absl::OkStatus();
  }

  absl::Status close() override {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && ::close(fd) != 0) return write_error(errno, "close", path_);
    return absl::OkStatus();
  }

 private:
  int fd_;
  const std::string path_;
};

class LocalFileLock : public FileLock {
 public:
  LocalFileLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~LocalFileLock() override { ::close(fd_); }

  absl::Status write(absl::string_view content) override {
    for (size_t done = 0; done < content.size();) {
      const ssize_t n = ::pwrite(fd_, content.data() + done, content.size() - done, done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return write_error(errno, "write", path_);
      done += n;
    }
    if (::ftruncate(fd_, content.size()) != 0) return write_error(errno, "write", path_);
    return absl::OkStatus();
  }

 private:
  const int fd_;
  const std::string path_;
};

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  return S_ISLNK(mode) ? FileKind::kSymbolicLink : FileKind::kOther;
}

// Returns true if nothing is at `from` and the file or directory `moved` is at `to`.
bool has_moved(const struct stat& moved, const std::string& from, const std::string& to) {
  struct stat stat;
  if (::lstat(from.c_str(), &stat) == 0 || errno != ENOENT) return false;
  return ::lstat(to.c_str(), &stat) == 0 && stat.st_dev == moved.st_dev &&
         stat.st_ino == moved.st_ino;
}

class LocalFileSystem : public FileSystem, public HardLinks {
 public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return read_error(errno, "open", path);
    struct stat stat;
    if (::fstat(fd, &stat) != 0 || S_ISDIR(stat.st_mode)) {
      const int error = S_ISDIR(stat.st_mode) ? EISDIR : errno;
      ::close(fd);
      return read_error(error, "open", path);
    }
    if (kind_of(stat.st_mode) == FileKind::kOther) {
      return std::make_unique<LocalStreamFile>(fd, path);
    }
    return std::make_unique<LocalReadableFile>(fd, path, stat.st_size);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return open_for_writing(path, O_TRUNC);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override {
    return open_for_writing(path, O_APPEND);
  }

  absl::StatusOr<FileInfo> info(const std::string& path) override {
    struct stat stat;
    if (::stat(path.c_str(), &stat) != 0) return read_error(errno, "find", path);
    return FileInfo{stat.st_size, S_ISDIR(stat.st_mode), kind_of(stat.st_mode),
                    absl::TimeFromTimespec(stat.st_mtim)};
  }

  absl::StatusOr<FileInfo> link_info(const std::string& path) override {
    struct stat stat;
    if (::lstat(path.c_str(), &stat) != 0) return read_error(errno, "find", path);
    return FileInfo{stat.st_size, S_ISDIR(stat.st_mode), kind_of(stat.st_mode),
                    absl::TimeFromTimespec(stat.st_mtim)};
  }

  absl::StatusOr<std::unique_ptr<PositionedFile>> create_new(const std::string& path,
                                                             int64_t size_bytes) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return write_error(errno, "create", path);
    auto file = std::make_unique<LocalPositionedFile>(fd, path);
    if (size_bytes == 0) return file;
    const bool reserved = ::fallocate(fd, 0, 0, size_bytes) == 0;
    if (!reserved && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      const absl::Status status = write_error(errno, "reserve room for", path);
      ::unlink(path.c_str());
      return status;
    }
    if (!reserved && ::ftruncate(fd, size_bytes) != 0) return write_error(errno, "create", path);
    return file;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) override {
    struct stat stat;
    const bool exists = ::stat(like.c_str(), &stat) == 0 && S_ISREG(stat.st_mode);
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const int fd = ::open(path.c_str(), flags, exists ? 0600 : 0644);
    if (fd < 0) return write_error(errno, "create", path);
    auto file = std::make_unique<LocalWritableFile>(fd, path);
    if (!exists) return file;
    // Another group gets none of the permissions. A file system without permissions may refuse.
    const bool same_group = ::fchown(fd, static_cast<uid_t>(-1), stat.st_gid) == 0;
    (void)::fchmod(fd, stat.st_mode & (same_group ? 0777 : 0707));
    return file;
  }

  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    DIR* const directory = ::opendir(path.c_str());
    if (directory == nullptr) return read_error(errno, "list", path);
    std::vector<DirectoryEntry> entries;
    int error = 0;
    while (true) {
      errno = 0;
      const dirent* const entry = ::readdir(directory);
      if (entry == nullptr) {
        error = errno;
        break;
      }
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type != DT_UNKNOWN) {  // most file systems know: a call less for each file
        entries.push_back({name, kind_of(DTTOIF(entry->d_type))});
        continue;
      }
      struct stat stat;
      if (::fstatat(::dirfd(directory), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // removed meanwhile
        error = errno;
        break;
      }
      entries.push_back({name, kind_of(stat.st_mode)});
    }
    ::closedir(directory);
    if (error != 0) return read_error(error, "list", path);
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  absl::StatusOr<int64_t> free_bytes(const std::string& path) override {
    struct statvfs space;
    if (::statvfs(path.c_str(), &space) != 0) return read_error(errno, "find", path);
    return static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return write_error(errno, "create", path);
    auto lock = std::make_unique<LocalFileLock>(fd, path);
    int result;
    do {
      result = ::flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    if (result != 0 && errno == EWOULDBLOCK) return nullptr;
    if (result != 0) return write_error(errno, "lock", path);
    return lock;
  }

  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override {
    glob_t found = {};
    const int result = ::glob(pattern.c_str(), GLOB_BRACE, &keep_listing_error, &found);
    const int error = result == GLOB_NOSPACE ? ENOMEM : listing_error;
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result != 0 && result != GLOB_NOMATCH) return read_error(error, "list", pattern);
    // The alternatives of {a,b} come one after another.
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
  }

  absl::Status create_directories(const std::string& path) override {
    for (size_t end = 1; end != std::string::npos && end <= path.size();) {
      end = path.find('/', end);
      const std::string prefix = path.substr(0, end);
      if (!prefix.empty() && ::mkdir(prefix.c_str(), 0755) != 0) {
        const int error = errno;
        struct stat stat;
        if (::stat(prefix.c_str(), &stat) != 0) return write_error(error, "create", path);
        if (!S_ISDIR(stat.st_mode)) return write_error(ENOTDIR, "create", path);
      }
      if (end != std::string::npos) ++end;
    }
    return absl::OkStatus();
  }

  absl::Status rename(const std::string& from, const std::string& to) override {
    struct stat moved;
    const bool known = ::lstat(from.c_str(), &moved) == 0;
    if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    const int error = errno;
    // NFS repeats a request whose answer was lost; a repeated rename does not find the source.
    if (error == ENOENT && known && has_moved(moved, from, to)) return absl::OkStatus();
    return write_error(error, "rename", absl::StrCat(from, " to ", to));
  }

  absl::Status link(const std::string& from, const std::string& to) override {
    // Another program may have written it.
    RETURN_IF_ERROR(sync(from, O_RDONLY));
    if (::link(from.c_str(), to.c_str()) != 0) {
      return write_error(errno, "link", absl::StrCat(from, " to ", to));
    }
    return absl::OkStatus();
  }

  absl::Status remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return write_error(errno, "remove", path);
    return absl::OkStatus();
  }

  absl::Status sync_directory(const std::string& path) override {
    return sync(path, O_RDONLY | O_DIRECTORY);
  }

 private:
  static absl::Status sync(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    if (fd < 0) return write_error(errno, "open", path);
    const bool failed = ::fsync(fd) != 0;
    const int error = errno;
    ::close(fd);
    if (failed) return write_error(error, "sync", path);
    return absl::OkStatus();
  }

  static absl::StatusOr<std::unique_ptr<WritableFile>> open_for_writing(const std::string& path,
                                                                        int flags) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    if (fd < 0) return write_error(errno, "create", path);
    return std::make_unique<LocalWritableFile>(fd, path);
  }
};

constexpr int64_t kMaxStreamBytes = 256 << 20;

// Reads a file of unknown size, such as a pipe.
absl::StatusOr<std::string> read_to_end(ReadableFile& file) {
  constexpr int64_t kPiece = 64 << 10;
  std::string content;
  while (true) {
    const int64_t at = static_cast<int64_t>(content.size());
    content.resize(at + kPiece);
    ASSIGN_OR_RETURN(const int64_t count, file.read_at(at, kPiece, content.data() + at));
    content.resize(at + count);
    if (count < kPiece) return content;
    if (at + count > kMaxStreamBytes) {
      return absl::FailedPreconditionError(absl::StrCat(
          "cannot read ", file.path(), ": it has no end within ", kMaxStreamBytes, " bytes"));
    }
  }
}

}  // namespace

FileSystem& FileSystem::local() {
  static LocalFileSystem* files = new LocalFileSystem;
  return *files;
}

// A pipe or a device is read to its end.
absl::StatusOr<std::string> read_file(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  if (file->size_bytes() == 0) return read_to_end(*file);
  std::string content(file->size_bytes(), '\0');
  ASSIGN_OR_RETURN(const int64_t count, file->read_at(0, content.size(), content.data()));
  content.resize(count);
  return content;
}

absl::Status remove_recursively(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, files.link_info(path));
  if (info.kind == FileKind::kDirectory) {
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.list(path));
    for (const DirectoryEntry& entry : entries) {
      RETURN_IF_ERROR(remove_recursively(files, join_path(path, entry.name)));
    }
  }
  return files.remove(path);
}

std::string aside_path(const std::string& path) {
  return absl::StrCat(path, ".millrace.tmp-", ::getpid());
}

absl::StatusOr<std::unique_ptr<WritableFile>> create_aside(FileSystem& files,
                                                           const std::string& path) {
  const std::string aside = aside_path(path);
  absl::StatusOr<std::unique_ptr<WritableFile>> file = files.create_replacement(aside, path);
  if (!absl::IsPermissionDenied(file.status()) || !files.link_info(aside).ok()) return file;
  RETURN_IF_ERROR(files.remove(aside));
  return files.create_replacement(aside, path);
}

absl::Status write_file_atomically(FileSystem& files, const std::string& path,
                                   absl::string_view content) {
  return write_file_atomically(files, path,
                               [&](WritableFile& file) { return file.append(content); });
}

absl::Status write_file_atomically(FileSystem& files, const std::string& path,
                                   const std::function<absl::Status(WritableFile&)>& write) {
  if (is_uri(path)) {  // an object appears whole
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.create(path));
    RETURN_IF_ERROR(write(*file));
    return file->close();
  }
  const std::string aside = aside_path(path);
  auto write_and_rename = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, create_aside(files, path));
    RETURN_IF_ERROR(write(*file));
    RETURN_IF_ERROR(file->sync());
    RETURN_IF_ERROR(file->close());
    RETURN_IF_ERROR(files.rename(aside, path));
    return files.sync_directory(directory_of(path));
  };
  const absl::Status status = write_and_rename();
  if (!status.ok()) files.remove(aside).IgnoreError();
  return status;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool is_uri(const std::string& path) {
  const size_t end = path.find("://");
  if (end == std::string::npos || end == 0) return false;
  return std::all_of(path.begin(), path.begin() + static_cast<int64_t>(end), [](char c) {
    return absl::ascii_isalnum(c) || c == '+' || c == '-' || c == '.';
  });
}

bool is_bucket(absl::string_view path) {
  return absl::StartsWith(path, "s3://") || absl::StartsWith(path, "gs://") ||
         absl::StartsWith(path, "gcs://");
}

absl::Status check_bucket(absl::string_view path) {
  for (const absl::string_view scheme : {"s3", "gs", "gcs"}) {
    absl::string_view bucket = path;
    if (!absl::ConsumePrefix(&bucket, scheme) || !absl::ConsumePrefix(&bucket, "://")) continue;
    if (bucket.substr(0, bucket.find('/')).find_first_of(":@") == bucket.npos) break;
    return absl::InvalidArgumentError(absl::StrCat(
        "a URI ", scheme,
        "://USER:PASSWORD@BUCKET has its password where everybody reads it; write ", scheme,
        "://BUCKET, and give the credentials in the environment, such as AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or in the files of the service"));
  }
  return absl::OkStatus();
}

std::string absolute_path(const std::string& path) {
  if (is_uri(path)) return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

std::string join_path(absl::string_view base, absl::string_view path) {
  if (base.empty() || (!path.empty() && path[0] == '/')) return std::string(path);
  return absl::StrCat(base, base.back() == '/' ? "" : "/", path);
}

}  // namespace millrace
