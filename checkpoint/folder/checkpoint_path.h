// Resolves a path from a user to a checkpoint.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_
#define MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"

namespace millrace {

struct CheckpointPath {
  bool is_checkpoint = false;  // if false, a folder of checkpoints
  std::string path;            // has a last name other than "." and ".."
};

// Resolves a path. A checkpoint has a manifest.json, or the name of a checkpoint. A folder of
// checkpoints has the name "checkpoints" or contains checkpoints. An output directory contains the
// folder "checkpoints". In a folder of checkpoints or an output directory, "best" resolves to the
// checkpoint with the best score (best_checkpoint.h), unless a file of that name exists. Does not
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
