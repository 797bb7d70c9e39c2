// Resolves a path from a user to a checkpoint, also to the best one of a run.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_
#define MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"

namespace millrace {

// The last name of a path that refers to the best checkpoint of an output directory or of a folder
// of checkpoints.
inline constexpr char kBestName[] = "best";

// Returns the index of the best checkpoint, whose step is in the manifest of the newest checkpoint.
// Returns none if the newest checkpoint records no best score, or if the best checkpoint is not in
// `usable`. `usable`: indices into `checkpoints`, by ascending step, of the checkpoints that
// training could resume from as far as known.
std::optional<size_t> find_best(const std::vector<ListedCheckpoint>& checkpoints,
                                const std::vector<size_t>& usable);

// Returns the path of the best checkpoint of a folder. Ignores checkpoints whose damage a listing
// shows.
// Errors: NotFound if no checkpoint exists, if the newest checkpoint records no best score, or if
// the best checkpoint does not exist; any error of list_checkpoints().
absl::StatusOr<std::string> best_checkpoint(FileSystem& files, const std::string& folder);

// Returns the folder of checkpoints of an output directory: its entry "checkpoints", or the folder
// that the first line of a file of that name gives (run.places.checkpoints).
std::string checkpoints_of(FileSystem& files, const std::string& output_dir);

struct CheckpointPath {
  bool is_checkpoint = false;  // if false, a folder of checkpoints
  std::string path;            // has a last name other than "." and ".."
};

// Resolves a path. A checkpoint has a manifest.json, or the name of a checkpoint. A folder of
// checkpoints has the name "checkpoints" or contains checkpoints. An output directory contains the
// folder "checkpoints". In a folder of checkpoints or an output directory, "best" resolves to the
// checkpoint with the best score (best_checkpoint()), unless a file of that name exists. Does not
// check that the checkpoint is whole.
// Errors: NotFound if the path does not exist, is another kind of directory, or has no best
// checkpoint; FailedPrecondition for a file; read errors.
absl::StatusOr<CheckpointPath> resolve_checkpoint_path(FileSystem& files, const std::string& path);

// Opens the checkpoint that `path` resolves to: the named checkpoint, or the newest one of the
// folder that `use` accepts. Borrows `files`. Returns a chain that is not empty.
// Errors: any error of resolve_checkpoint_path(), open_chain() and `use`; NotFound if no checkpoint
// exists; the error of the newest checkpoint if all are damaged.
absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 const UseChain& use);
// Like the function above, but takes the newest checkpoint of a folder that verifies. A checkpoint
// that is named itself is only opened: its reader checks every byte.
absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 Check check, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_
