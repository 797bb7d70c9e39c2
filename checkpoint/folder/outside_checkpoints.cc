#include "checkpoint/folder/outside_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/format/checkpoint_names.h"

namespace millrace {
namespace {

// Returns the absolute path without a trailing slash, and without links as far as the path exists.
std::string resolved_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute_path(path), error);
  if (error) resolved = std::filesystem::path(absolute_path(path)).lexically_normal();
  if (!resolved.has_filename() && resolved.has_relative_path()) resolved = resolved.parent_path();
  return resolved.string();
}

bool is_checkpoint(FileSystem& files, const std::string& directory) {
  if (!files.link_info(join_path(directory, kManifestName)).ok()) return false;
  // A damaged checkpoint is recognized by its name, a copied checkpoint by its content.
  return parse_checkpoint_name(base_name(directory)).has_value() ||
         CheckpointReader::open(files, directory).ok();
}

bool is_checkpoint_folder(FileSystem& files, const std::string& directory) {
  const bool has_name = base_name(directory) == kCheckpointsFolder;
  const bool has_lock = is_directory_lock(files, join_path(directory, "lock"));
  if (has_name && has_lock &&
      is_directory_lock(files, join_path(directory_of(directory), "lock"))) {
    return true;
  }
  return (has_name || has_lock) && has_checkpoint(files, directory);
}

absl::Status refuse(const std::string& path, absl::string_view why) {
  return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": ", why));
}

}  // namespace

bool has_checkpoint(FileSystem& files, const std::string& folder) {
  const auto entries = files.list(folder);
  return entries.ok() && std::any_of(entries->begin(), entries->end(), [&](const auto& entry) {
           return parse_checkpoint_name(entry.name).has_value() &&
                  files.info(join_path(join_path(folder, entry.name), kManifestName)).ok();
         });
}

absl::Status check_outside_checkpoints(FileSystem& files, const std::string& path) {
  if (is_uri(path)) return absl::OkStatus();
  const std::string place = resolved_path(path);
  for (std::string above = place;; above = directory_of(above)) {
    const absl::string_view relation = above == place ? "it is" : "it would lie in";
    if (is_checkpoint(files, above)) {
      return refuse(
          path, absl::StrCat(relation, " the checkpoint ", above,
                             above == place ? "" : " and damage it", "; choose a place outside"));
    }
    if (is_checkpoint_folder(files, above)) {
      return refuse(path, absl::StrCat(relation, " the folder of checkpoints ", above,
                                       "; choose a place outside"));
    }
    if (above == directory_of(above)) return absl::OkStatus();
  }
}

}  // namespace millrace
