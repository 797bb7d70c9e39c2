#include "tools/output/run_directory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "tools/launch/launcher_output.h"
#include "tools/output/output_file.h"
#include "tools/output/output_kinds.h"

namespace millrace {
namespace {

constexpr size_t kNamedFiles = 3;

// Returns true if nothing can be lost: an empty file, such as the lock of a run that was killed at
// its beginning, or a directory with only such files.
bool is_empty(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.link_info(path);
  if (!info.ok()) return false;
  if (info->kind == FileKind::kRegular) return info->size_bytes == 0;
  const auto entries = files.list(path);
  return info->kind == FileKind::kDirectory && entries.ok() &&
         std::all_of(entries->begin(), entries->end(), [&](const DirectoryEntry& entry) {
           return is_empty(files, join_path(path, entry.name));
         });
}

// Returns true for output as in `millrace train ... > OUTPUT_DIR/log`, also under `millrace
// launch`.
bool is_own_output(const std::string& path) {
  return is_same_file(path, "/dev/stdout") || is_same_file(path, "/dev/stderr") ||
         is_launcher_output(path);
}

// Returns true for a link to an empty directory, such as one on a larger disk.
bool is_link_to_empty(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  if (!info.ok() || info->kind != FileKind::kDirectory) return false;
  const auto entries = files.list(path);
  return entries.ok() && entries->empty();
}

bool is_foreign(FileSystem& files, const std::string& directory, const DirectoryEntry& entry) {
  const std::string path = join_path(directory, entry.name);
  if (entry.name == "checkpoints" && is_link_to_empty(files, path)) return false;
  // The root of a disk has a directory of the system.
  if (entry.name == "lost+found" || is_empty(files, path) || is_own_output(path)) return false;
  return entry.kind != FileKind::kRegular || !summary_kind().matches(files, path);
}

}  // namespace

bool is_run_directory(FileSystem& files, const std::string& directory) {
  return is_directory_lock(files, join_path(directory, "lock")) ||
         has_checkpoint(files, join_path(directory, "checkpoints"));
}

absl::Status check_run_directory(FileSystem& files, const std::string& directory, bool overwrite) {
  // The lock of a folder of checkpoints would look like the lock of a run.
  RETURN_IF_ERROR(check_outside_checkpoints(files, directory), "output_dir");
  const auto entries = files.list(directory);
  // A directory that cannot be listed is missing, or check_output_directory reports the problem.
  if (overwrite || !entries.ok() || is_run_directory(files, directory)) return absl::OkStatus();
  std::vector<std::string> foreign;
  size_t looked_at = 0;
  for (const DirectoryEntry& entry : *entries) {
    if (foreign.size() == kNamedFiles) break;
    ++looked_at;
    if (is_foreign(files, directory, entry)) foreign.push_back(join_path(directory, entry.name));
  }
  if (foreign.empty()) return absl::OkStatus();
  const size_t more = entries->size() - looked_at;
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot write to output_dir ", directory, ": it is no run's, and holds ",
      absl::StrJoin(foreign, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "",
      "; choose another with --output_dir, or use this one with --overwrite"));
}

}  // namespace millrace
