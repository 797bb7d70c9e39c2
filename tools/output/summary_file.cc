#include "tools/output/summary_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "job/output_place.h"
#include "tools/exit_code.h"
#include "tools/output/output_kinds.h"
#include "tools/output/summary_json.h"

namespace millrace {
namespace {

// Ways to write to a path.
enum class Way { kReplace, kThroughLink, kAppend };

Way way_to(const std::string& path) {
  struct stat info;
  for (const std::string& place : link_chain(path)) {
    const std::string name = std::filesystem::path(place).lexically_normal().string();
    // An open file of a process, which may hold earlier output, or a device.
    const bool device = absl::StartsWith(name, "/dev/") && !absl::StartsWith(name, "/dev/shm/");
    if (device || absl::StartsWith(name, "/proc/")) return Way::kAppend;
  }
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return Way::kAppend;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) ? Way::kThroughLink
                                                                    : Way::kReplace;
}

absl::Status write_open(absl::StatusOr<std::unique_ptr<WritableFile>> file,
                        const std::string& text) {
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR((*file)->append(text));
  return (*file)->close();
}

absl::Status check_place(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(check_shell_path(path));
  const std::string directory = directory_of(path);
  const absl::StatusOr<FileInfo> above = files.info(directory);
  if (!above.ok() || !above->is_directory) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": there is no directory ", directory));
  }
  const absl::StatusOr<FileInfo> there = files.info(path);
  if (there.ok() && there->is_directory) {
    return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": it is a directory"));
  }
  const bool local = !absl::StrContains(path, "://");
  if (local && way_to(path) == Way::kReplace && !writable(directory, /*is_directory=*/true)) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": ", directory, " is not writable"));
  }
  return check_outside_checkpoints(files, path);
}

}  // namespace

absl::Status SummaryFile::check() const {
  if (path_.empty()) return absl::OkStatus();
  return annotate(check_place(files_, path_), "--summary");
}

absl::Status SummaryFile::check_inputs(absl::FunctionRef<std::vector<RunInput>()> inputs) {
  if (path_.empty()) return absl::OkStatus();
  const absl::Status status = check_not_input(files_, path_, inputs());
  knows_inputs_ = status.ok();
  if (!status.ok()) path_.clear();
  RETURN_IF_ERROR(status, "--summary");
  if (way_to(path_) == Way::kAppend) return absl::OkStatus();
  return annotate(check_replaceable(files_, path_, summary_kind(), overwrite_), "--summary");
}

absl::Status SummaryFile::write(const std::string& json) const {
  if (path_.empty()) return absl::OkStatus();
  const Way way = way_to(path_);
  const auto write = [&]() -> absl::Status {
    RETURN_IF_ERROR(check_place(files_, path_));
    if (way == Way::kAppend) return write_open(files_.open_for_append(path_), json);
    RETURN_IF_ERROR(check_replaceable(files_, path_, summary_kind(), overwrite_ && knows_inputs_));
    if (way == Way::kThroughLink) return write_open(files_.create(path_), json);
    return write_file_atomically(files_, path_, json);
  };
  return annotate(write(), "--summary");
}

absl::StatusOr<int> SummaryFile::end_command(Summary summary, absl::Status status) const {
  summary.outcome = status.ok() ? Outcome::kCompleted : Outcome::kFailed;
  summary.error = std::string(status.message());
  status.Update(write(summary_json(summary)));
  RETURN_IF_ERROR(status);
  return kExitFinished;
}

}  // namespace millrace
