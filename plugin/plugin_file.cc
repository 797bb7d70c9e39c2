#include "plugin/plugin_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "plugin/bad_plugin.h"
#include "plugin/sha256.h"

// Linux 6.3 added this flag; headers of older systems lack it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace millrace {
namespace {

constexpr size_t kPiece = 1 << 20;
constexpr int64_t kMostBytes = int64_t{1} << 30;

absl::Status bad_file(absl::string_view path, absl::string_view what) {
  return bad_plugin(path, ": ", what);
}

absl::Status failed(absl::string_view path, absl::string_view doing) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": ", doing));
}

// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

// Checks that only root and the user of the process can change `path`. `info`: the status of
// `path`.
absl::Status check_owner(const std::string& path, const struct stat& info) {
  const bool is_directory = S_ISDIR(info.st_mode);
  const char* kind = is_directory ? "directory" : "file";
  if (info.st_uid != 0 && info.st_uid != ::geteuid()) {
    return bad_file(path,
                    absl::StrCat("the ", kind, " belongs to user ", info.st_uid,
                                 "; a plugin and all directories above it must belong to root or "
                                 "to the user of this process (",
                                 ::geteuid(), ")"));
  }
  // Users cannot replace each other's files in a sticky directory of root, such as /tmp.
  const bool sticky = is_directory && info.st_uid == 0 && (info.st_mode & S_ISVTX) != 0;
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) {
    return bad_file(path,
                    absl::StrFormat("others than its owner can write to the %s (mode %o); take "
                                    "that away from a plugin and all directories above it "
                                    "(chmod go-w)",
                                    kind, info.st_mode & 07777));
  }
  return absl::OkStatus();
}

// Opens a part of a path. Never follows a link, and never opens a file on which open() has side
// effects or blocks.
absl::StatusOr<Descriptor> open_part(const Descriptor& parent, const std::string& name,
                                     const std::string& path, bool is_file) {
  struct stat info = {};
  if (::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return failed(path, "looking for it");
  }
  if (S_ISLNK(info.st_mode)) {
    return bad_file(path, "it is a symbolic link; give the path without links");
  }
  if (is_file ? !S_ISREG(info.st_mode) : !S_ISDIR(info.st_mode)) {
    return bad_file(path, is_file ? "it is no regular file" : "it is no directory");
  }
  const int flags =
      O_CLOEXEC | O_NOFOLLOW | (is_file ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY);
  Descriptor part(::openat(parent.get(), name.c_str(), flags));
  if (part.get() < 0) {
    // The part was replaced since fstatat().
    if (errno == ELOOP || errno == ENOTDIR) return bad_file(path, "it is a symbolic link");
    return failed(path, "opening it");
  }
  // Owner and mode are read from the opened file, which may differ from the file of fstatat().
  if (::fstat(part.get(), &info) != 0) return failed(path, "looking at it");
  if (is_file && !S_ISREG(info.st_mode)) return bad_file(path, "it is no regular file");
  RETURN_IF_ERROR(check_owner(path, info));
  return part;
}

// Opens parts from the root on, so that each directory is checked by the descriptor that opens the
// next.
absl::StatusOr<Descriptor> open_checked(const std::string& path) {
  Descriptor at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info = {};
  if (at.get() < 0 || ::fstat(at.get(), &info) != 0) return failed("/", "opening it");
  RETURN_IF_ERROR(check_owner("/", info));
  const std::vector<std::string> parts = absl::StrSplit(path.substr(1), '/');
  std::string so_far;
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::StrAppend(&so_far, "/", parts[i]);
    ASSIGN_OR_RETURN(at, open_part(at, parts[i], so_far, /*is_file=*/i + 1 == parts.size()));
  }
  return at;
}

absl::StatusOr<int> make_memory(const std::string& path) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int memory = ::memfd_create("millrace_plugin", kFlags | MFD_NOEXEC_SEAL);
  if (memory < 0 && errno == EINVAL) memory = ::memfd_create("millrace_plugin", kFlags);
  if (memory < 0) return failed(path, "making a copy in memory");
  return memory;
}

absl::Status write_all(const std::string& path, int memory, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(memory, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return failed(path, "making a copy in memory");
    bytes.remove_prefix(wrote);
  }
  return absl::OkStatus();
}

// Copies a file in one pass. A file that changes during the copy gives a mixture, and the checks
// treat the copy like any other bytes.
absl::StatusOr<int64_t> copy_bytes(const std::string& path, int source, int memory) {
  std::string piece(kPiece, '\0');
  int64_t size = 0;
  for (;;) {
    const ssize_t got = ::read(source, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path, "reading it");
    if (got == 0) return size;
    size += got;
    if (size > kMostBytes) {
      return bad_file(path, absl::StrCat("it has more than ", kMostBytes, " bytes"));
    }
    RETURN_IF_ERROR(write_all(path, memory, {piece.data(), static_cast<size_t>(got)}));
  }
}

}  // namespace

absl::Status check_plugin_path(absl::string_view path) {
  if (path.empty() || path.front() != '/') {
    return bad_plugin("the path is relative; give an absolute one");
  }
  if (path.find('\0') != absl::string_view::npos) {
    return bad_plugin("the path holds a zero byte");
  }
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") {
      return bad_plugin("the path has a part \"", part,
                        "\"; give it without \".\", \"..\", double slashes and a slash at its end");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PluginFile> PluginFile::open(const std::string& path,
                                            const std::vector<std::string>* directories) {
  RETURN_IF_ERROR(check_plugin_path(path), path);
  if (directories != nullptr && directories->empty()) {
    return bad_file(path, "no plugin is loaded: run.plugins.directory is not set");
  }
  const std::string directory = directory_of(path);
  if (directories != nullptr &&
      std::find(directories->begin(), directories->end(), directory) == directories->end()) {
    return bad_file(path, absl::StrCat("it lies directly in none of run.plugins.directory (",
                                       absl::StrJoin(*directories, ", "), ")"));
  }
  ASSIGN_OR_RETURN(const Descriptor source, open_checked(path));
  return copy(path, source.get());
}

absl::StatusOr<PluginFile> PluginFile::read(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return failed(path, "looking for it");
  if (!S_ISREG(info.st_mode)) return bad_file(path, "it is no regular file");
  const Descriptor source(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (source.get() < 0) return failed(path, "opening it");
  return copy(path, source.get());
}

absl::StatusOr<PluginFile> PluginFile::copy(const std::string& path, int source) {
  ASSIGN_OR_RETURN(const int memory, make_memory(path));
  PluginFile file(path, memory);
  RETURN_IF_ERROR(file.fill(source));
  return file;
}

absl::Status PluginFile::fill(int source) {
  ASSIGN_OR_RETURN(const int64_t size, copy_bytes(path_, source, descriptor_));
  if (size == 0) return bad_file(path_, "it is empty");
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (::fcntl(descriptor_, F_ADD_SEALS, kSeals) != 0) return failed(path_, "sealing its copy");
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (mapped == MAP_FAILED) return failed(path_, "reading its copy");
  bytes_ = absl::string_view(static_cast<const char*>(mapped), size);
  digest_ = sha256(bytes_);
  return absl::OkStatus();
}

PluginFile::PluginFile(PluginFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, {})),
      digest_(std::move(other.digest_)) {}

PluginFile::~PluginFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string PluginFile::loadable_path() const {
  return absl::StrCat("/proc/self/fd/", descriptor_);
}

}  // namespace millrace
