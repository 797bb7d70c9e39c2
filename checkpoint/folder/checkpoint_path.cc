#include "checkpoint/folder/checkpoint_path.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/chunked_file.h"

namespace millrace {

constexpr int64_t kMostPlaceBytes = 4096;

std::optional<size_t> find_best(const std::vector<ListedCheckpoint>& checkpoints,
                                const std::vector<size_t>& usable) {
  if (usable.empty()) return std::nullopt;
  const CheckpointManifest& newest = checkpoints[usable.back()].reader->manifest();
  if (!newest.has_best()) return std::nullopt;
  const auto found = std::find_if(usable.begin(), usable.end(), [&](size_t i) {
    return checkpoints[i].step == newest.best().step();
  });
  return found == usable.end() ? std::nullopt : std::optional<size_t>(*found);
}

absl::StatusOr<std::string> best_checkpoint(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  std::vector<size_t> usable;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    if (listed_chain(checkpoints, i).ok()) usable.push_back(i);
  }
  if (usable.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", folder));
  }
  const std::optional<size_t> best = find_best(checkpoints, usable);
  if (best.has_value()) return checkpoints[*best].path;
  const ListedCheckpoint& newest = checkpoints[usable.back()];
  if (!newest.reader->manifest().has_best()) {
    return absl::NotFoundError(absl::StrCat(
        "no best score is known in ", newest.path,
        ": the run had none yet, or run.evaluation.best was not given; name a checkpoint"));
  }
  const CheckpointManifest::BestScore& score = newest.reader->manifest().best();
  return absl::NotFoundError(absl::StrCat("the best score of ", newest.path, " is ", score.value(),
                                          " of step ", score.step(), ", but ",
                                          join_path(folder, checkpoint_name(score.step())),
                                          " is not there or damaged; name another checkpoint"));
}

std::string checkpoints_of(FileSystem& files, const std::string& output_dir) {
  const std::string path = join_path(output_dir, kCheckpointsFolder);
  const auto place = read_regular_file(files, path, kMostPlaceBytes);
  return place.ok() ? place->substr(0, place->find('\n')) : path;
}

namespace {

// Returns the path without trailing slashes and with a last name: bases of a delta are found next
// to the delta, so its path must have a name.
std::string with_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string name = base_name(path);
  if (name != "." && name != "..") return path;
  std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

bool is_directory(FileSystem& files, const std::string& path) {
  const absl::StatusOr<FileInfo> info = files.info(path);
  return info.ok() && info->is_directory;
}

// Adds the remedy to an error of a checkpoint that was named itself.
absl::Status with_remedy(const absl::Status& status, const std::string& path) {
  if (!absl::IsDataLoss(status)) return status;
  return absl::DataLossError(absl::StrCat(status.message(), "; name ", directory_of(path),
                                          " to take the newest checkpoint there that is whole"));
}

// Opens a checkpoint that was named itself.
absl::StatusOr<NewestCheckpoint> open_named(FileSystem& files, const std::string& path) {
  auto chain = open_chain(files, path);
  if (!chain.ok()) return with_remedy(chain.status(), path);
  NewestCheckpoint named;
  named.chain = *std::move(chain);
  return named;
}

// Returns `found`, or the error if no checkpoint was found.
absl::StatusOr<NewestCheckpoint> newest_of(NewestCheckpoint found, const std::string& folder) {
  if (!found.chain.empty()) return found;
  if (!found.damaged.empty()) {
    return annotate(found.damaged.front(), absl::StrCat("no checkpoint in ", folder, " is whole"));
  }
  return absl::NotFoundError(absl::StrCat("there is no checkpoint in ", folder));
}

absl::StatusOr<CheckpointPath> resolve_best(FileSystem& files, const std::string& folder,
                                            const std::string& path) {
  ASSIGN_OR_RETURN(std::string best, best_checkpoint(files, folder), path);
  return CheckpointPath{true, std::move(best)};
}

}  // namespace

absl::StatusOr<CheckpointPath> resolve_checkpoint_path(FileSystem& files, const std::string& path) {
  const std::string named = with_name(path);
  const absl::StatusOr<FileInfo> info = files.info(named);
  // "best" is not a directory: a manifest in the folder records which checkpoint is the best.
  if (absl::IsNotFound(info.status()) && base_name(named) == kBestName) {
    const absl::StatusOr<CheckpointPath> place =
        resolve_checkpoint_path(files, directory_of(named));
    if (place.ok() && !place->is_checkpoint) return resolve_best(files, place->path, path);
  }
  RETURN_IF_ERROR(info.status());
  if (!info->is_directory) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a file; a checkpoint is a directory"));
  }
  // The name counts as well: a checkpoint without its manifest is no folder of checkpoints.
  if (files.link_info(join_path(named, kManifestName)).ok() ||
      parse_checkpoint_name(base_name(named))) {
    return CheckpointPath{true, named};
  }
  if (base_name(named) == kCheckpointsFolder) return CheckpointPath{false, named};
  const std::string below = checkpoints_of(files, named);
  if (is_directory(files, below)) return CheckpointPath{false, below};
  // A folder of checkpoints may have any name, so its entries decide.
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files.list(named));
  for (const DirectoryEntry& entry : entries) {
    if (parse_checkpoint_name(entry.name)) return CheckpointPath{false, named};
  }
  return absl::NotFoundError(
      absl::StrCat(path, " is neither a checkpoint (it has no ", kManifestName,
                   ") nor a folder of checkpoints nor an output directory of training"));
}

absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 const UseChain& use) {
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  if (place.is_checkpoint) {
    ASSIGN_OR_RETURN(NewestCheckpoint named, open_named(files, place.path));
    RETURN_IF_ERROR(with_remedy(use(named.chain), place.path));
    return named;
  }
  ASSIGN_OR_RETURN(NewestCheckpoint found, newest_checkpoint(files, place.path, use));
  return newest_of(std::move(found), place.path);
}

absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 Check check, ThreadPool& threads) {
  ASSIGN_OR_RETURN(const CheckpointPath place, resolve_checkpoint_path(files, path));
  if (place.is_checkpoint) return open_named(files, place.path);
  ASSIGN_OR_RETURN(NewestCheckpoint found, newest_checkpoint(files, place.path, check, threads));
  return newest_of(std::move(found), place.path);
}

}  // namespace millrace
