// What a path that somebody gives stands for.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_
#define MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"

namespace millrace {

struct CheckpointPath {
  bool is_checkpoint = false;  // else a folder of them
  std::string path;            // has a last name other than "." and ".."
};

// A checkpoint has a manifest.json, or the name of one; a folder of checkpoints is called so or has
// some; an output directory has the folder "checkpoints". Behind one of these two, "best" stands
// for the checkpoint with the best score (best_checkpoint.h), unless there is a file of that name.
// Whether a checkpoint is whole is not looked at.
// Errors: NotFound if there is nothing, or nothing of that, or no best checkpoint;
// FailedPrecondition for a file; those of reading.
absl::StatusOr<CheckpointPath> resolve_checkpoint_path(FileSystem& files, const std::string& path);

// The checkpoint that `path` stands for: itself, else the newest of the folder that `use` takes.
// Borrows `files`.
// Returns: a chain that is not empty.
// Errors: those of resolve_checkpoint_path, open_chain and `use`; NotFound if there is no
// checkpoint; that of the newest if all are damaged.
absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 const UseChain& use);
// The same, but of a folder the newest that verifies. One that is named is only opened: who reads
// it checks every byte.
absl::StatusOr<NewestCheckpoint> open_checkpoint(FileSystem& files, const std::string& path,
                                                 Check check, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_PATH_H_
