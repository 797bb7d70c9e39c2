#include "tools/output/output_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "job/output_place.h"

namespace millrace {
namespace {

std::string normal_path(const std::string& path) {
  return std::filesystem::path(absolute_path(path)).lexically_normal().string();
}

// The lock of a file or directory under its temporary name is a file with this suffix next to it.
constexpr char kLock[] = ".lock";
// Number of attempts to lock a file that another process removes between its creation and its lock.
constexpr int kLockAttempts = 10;

constexpr int kMostLinks = 40;  // as Linux follows

// Returns true if `name` is a temporary file or directory for `output` of a process, or its lock.
bool is_aside(absl::string_view name, absl::string_view output) {
  const std::string prefix = absl::StrCat(output, ".millrace.tmp-");
  int64_t process = 0;
  if (!absl::ConsumePrefix(&name, prefix)) return false;
  absl::ConsumeSuffix(&name, kLock);
  return absl::SimpleAtoi(name, &process) && process > 0;
}

// Takes the lock under which this process writes `path` aside. A process that removes leftovers may
// lock the file too for a moment, and then remove it: a locked file must still exist.
absl::StatusOr<std::unique_ptr<FileLock>> lock_output(FileSystem& files, const std::string& path) {
  const std::string lock_path = absl::StrCat(aside_path(path), kLock);
  remove_leftovers(files, path);
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, files.lock(lock_path));
    if (lock != nullptr && files.link_info(lock_path).ok()) return lock;
    Clock::real().sleep(absl::Milliseconds(10));
  }
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", path,
                                                  ": another process writes ", aside_path(path),
                                                  "; wait for its end, or choose another name"));
}

// Extensions by which programs open files.
constexpr absl::string_view kWellKnown[] = {
    ".csv",         ".tsv",  ".txt",  ".json", ".jsonl", ".parquet", ".pq",  ".orc",
    ".safetensors", ".pt",   ".pth",  ".npy",  ".npz",   ".onnx",    ".svg", ".png",
    ".jpg",         ".jpeg", ".html", ".gif",  ".pdf",   ".gz",      ".zip",
};

}  // namespace

std::vector<std::string> link_chain(const std::string& path) {
  std::vector<std::string> chain = {path};
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::filesystem::path at = chain.back();
    const std::filesystem::path target = std::filesystem::read_symlink(at, error);
    if (error) break;
    chain.push_back((at.parent_path() / target).string());
  }
  return chain;
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (normal_path(a) == normal_path(b)) return true;
  struct stat info_a, info_b;
  if (::stat(a.c_str(), &info_a) != 0 || ::stat(b.c_str(), &info_b) != 0) return false;
  return info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

absl::Status check_not_input(FileSystem& files, const std::string& path,
                             absl::Span<const RunInput> inputs) {
  for (const RunInput& input : inputs) {
    if (!is_same_file(path, input.path)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path, ": it is ", input.what, "; choose another name"));
  }
  return check_outside_checkpoints(files, path);
}

absl::Status check_replaceable(FileSystem& files, const std::string& path, const OutputKind& kind,
                               bool overwrite) {
  const absl::StatusOr<FileInfo> there = files.info(path);
  if (!there.ok() || there->kind != FileKind::kRegular || there->size_bytes == 0) {
    return absl::OkStatus();
  }
  if (overwrite || kind.matches(files, path)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", path, ": it is there already and not ", kind.name,
                   " of Millrace; choose another name, or replace it with --overwrite"));
}

absl::Status check_extension(absl::string_view path, absl::string_view what,
                             absl::Span<const absl::string_view> extensions) {
  const std::string extension =
      absl::AsciiStrToLower(std::filesystem::path(std::string(path)).extension().string());
  if (!absl::c_linear_search(kWellKnown, extension) ||
      absl::c_linear_search(extensions, extension)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": the extension is ", extension, ", but ",
                                                 what, " is written; use ",
                                                 absl::StrJoin(extensions, " or ")));
}

absl::Status check_output(FileSystem& files, const std::string& path, const OutputKind& kind,
                          absl::Span<const RunInput> inputs, bool overwrite) {
  RETURN_IF_ERROR(check_output_file(files, path));
  RETURN_IF_ERROR(check_not_input(files, path, inputs));
  return check_replaceable(files, path, kind, overwrite);
}

absl::Status check_edited_output(FileSystem& files, const std::string& path,
                                 absl::Span<const RunInput> inputs, bool overwrite) {
  RETURN_IF_ERROR(check_output_file(files, path));
  RETURN_IF_ERROR(check_not_input(files, path, inputs));
  const absl::StatusOr<FileInfo> there = files.info(path);
  const bool is_empty = there.ok() && there->size_bytes == 0;
  if (overwrite || is_empty || !files.link_info(path).ok()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write ", path,
                   ": it is there already; choose another name, or replace it with --overwrite"));
}

void remove_leftovers(FileSystem& files, const std::string& path) {
  const std::string folder = directory_of(path), output = base_name(path);
  const absl::StatusOr<std::vector<DirectoryEntry>> entries = files.list(folder);
  if (!entries.ok()) return;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind != FileKind::kRegular || !is_aside(entry.name, output)) continue;
    const std::string leftover = join_path(folder, entry.name);
    // Goes with its lock.
    if (files.link_info(absl::StrCat(leftover, kLock)).ok()) continue;
    // A living writer holds the lock. The process number in the name is meaningless, since another
    // process, of this machine or of a container, may have the same number now.
    const absl::StatusOr<std::unique_ptr<FileLock>> lock = files.lock(leftover);
    if (!lock.ok() || *lock == nullptr) continue;
    // Removed last, since the lock identifies the rest.
    const std::string aside(absl::StripSuffix(leftover, kLock));
    if (aside != leftover && files.link_info(aside).ok() &&
        !remove_recursively(files, aside).ok()) {
      continue;
    }
    files.remove(leftover).IgnoreError();
  }
}

absl::Status write_output_file(FileSystem& files, const std::string& path,
                               const std::function<absl::Status(WritableFile&)>& write) {
  const std::string target = link_chain(path).back();
  return with_output_lock(files, target,
                          [&] { return write_file_atomically(files, target, write); });
}

absl::Status with_output_lock(FileSystem& files, const std::string& path,
                              absl::FunctionRef<absl::Status()> write) {
  ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, lock_output(files, path));
  const absl::Status status = write();
  files.remove(absl::StrCat(aside_path(path), kLock)).IgnoreError();
  return status;
}

absl::Status write_output_directory(FileSystem& files, const std::string& path,
                                    const std::function<absl::Status(const std::string&)>& write) {
  const std::string aside = aside_path(path);
  ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, lock_output(files, path));
  const auto write_and_rename = [&]() -> absl::Status {
    // Left by an earlier process with the same number.
    if (files.link_info(aside).ok()) RETURN_IF_ERROR(remove_recursively(files, aside));
    RETURN_IF_ERROR(files.create_directories(aside));
    RETURN_IF_ERROR(write(aside));
    RETURN_IF_ERROR(files.rename(aside, path));
    return files.sync_directory(directory_of(path));
  };
  const absl::Status status = write_and_rename();
  if (!status.ok()) remove_recursively(files, aside).IgnoreError();
  files.remove(absl::StrCat(aside, kLock)).IgnoreError();
  return status;
}

}  // namespace millrace
