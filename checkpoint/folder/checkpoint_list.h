// Lists the checkpoints on disk and finds the newest.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_LIST_H_
#define MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"

namespace millrace {

// A directory with the name of a checkpoint.
struct ListedCheckpoint {
  int64_t step = 0;
  std::string path;
  // Null if the checkpoint is damaged or cannot be read; `status` has the error.
  std::unique_ptr<CheckpointReader> reader;
  absl::Status status;
  // If `reader` is null: the manifest, if it can be read.
  std::optional<CheckpointManifest> manifest = std::nullopt;
};

// Returns all checkpoints in a folder by ascending step, each checked as CheckpointReader::open()
// does. A checkpoint whose writer died while replacing it is listed under its `.old` name. Ignores
// files and other names. A missing folder counts as empty. Borrows `files`.
// Errors: errors of listing the folder.
absl::StatusOr<std::vector<ListedCheckpoint>> list_checkpoints(FileSystem& files,
                                                               const std::string& folder);

// Opens a checkpoint and, for a delta, its bases: the whole checkpoint first, then each delta on
// the checkpoint before. Borrows `files`.
// Errors: any error of CheckpointReader::open(); DataLoss naming a base that is missing or is a
// different checkpoint.
absl::StatusOr<std::vector<std::unique_ptr<CheckpointReader>>> open_chain(FileSystem& files,
                                                                          const std::string& path);

// The depth of the check before a checkpoint is trusted.
enum class Check {
  kQuick,  // the checks of CheckpointReader::open(), for the checkpoint and its bases
  kFull    // every byte
};

// Returns a listed checkpoint and, for a delta, its bases, as indices into `checkpoints`, the whole
// checkpoint first. Errors: any error of open_chain().
absl::StatusOr<std::vector<size_t>> listed_chain(absl::Span<const ListedCheckpoint> checkpoints,
                                                 size_t index);

// The reaction to damage of the newest checkpoint.
enum class OnDamage {
  kFallback,  // the one before it is used, with a warning
  kStrict     // an error
};

// Returns true for errors that make a search continue with the previous checkpoint: DataLoss,
// NotFound. Other errors (a newer format, another model, a disk that cannot be read) do not
// indicate damaged content, and an older checkpoint in its place would be an unrequested step back.
bool is_damage(const absl::Status& status);

// Returns the paths of `checkpoints`, as list_checkpoints() returns them, by descending step.
std::vector<std::string> newest_first(absl::Span<const ListedCheckpoint> checkpoints);

struct NewestSearch {
  std::optional<size_t> found;        // index of its path; none: no checkpoint was found
  std::vector<absl::Status> damaged;  // errors of newer checkpoints, newest first
};

// Returns true if checkpoint number `index` is the wanted checkpoint, false for another whole
// checkpoint.
using TryCheckpoint = absl::FunctionRef<absl::StatusOr<bool>(size_t index)>;

// Searches for the newest checkpoint; every search in Millrace uses this function. Tries `paths`,
// which are by descending step, skips damaged checkpoints, and stops at the first checkpoint that
// `use` accepts.
// Errors: any error of `use` except damage; for OnDamage::kStrict also damage. All errors,
// including the errors in `damaged`, name the path.
absl::StatusOr<NewestSearch> search_newest(absl::Span<const std::string> paths, OnDamage on_damage,
                                           TryCheckpoint use);

struct NewestCheckpoint {
  // The chain, as open_chain() returns it. Empty if no checkpoint verifies.
  std::vector<std::unique_ptr<CheckpointReader>> chain;
  // Errors of newer checkpoints, newest first. Each error names its path.
  std::vector<absl::Status> damaged;
};

// Uses a checkpoint and so detects damage of its bytes.
using UseChain = std::function<absl::Status(CheckpointChain chain)>;

// Returns the checkpoint of the largest step that `use` accepts. Errors: errors of listing the
// folder; any error of search_newest().
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   const UseChain& use);

// Returns the checkpoint of the largest step that verifies. Errors: as above.
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   Check check, ThreadPool& threads);

// Returns the newest of `checkpoints` that verifies, with its bases, as listed_chain() does.
// Returns an empty vector if none verifies. Adds the errors of newer checkpoints to `damaged`,
// newest first. `checkpoints`: as list_checkpoints() returns them.
// Errors: any error of search_newest().
absl::StatusOr<std::vector<size_t>> find_newest(absl::Span<const ListedCheckpoint> checkpoints,
                                                Check check, ThreadPool& threads,
                                                std::vector<absl::Status>* damaged);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_LIST_H_
