// Checkpoints without what only training needs.
#ifndef MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_
#define MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Whether a checkpoint has parts other than DENSE and ROWS.
bool has_training_state(const CheckpointManifest& manifest);

// Replaces a checkpoint by one with the parts DENSE and ROWS alone, committed as every checkpoint
// is: the one or the other is there at any time. What is kept is checked as it is read. One that
// has no other parts is left as it is.
// REQUIRES: not a delta; the caller holds the lock of the folder.
// Errors: those of CheckpointReader, of check_free_space and of CommitDirectory; the checkpoint is
// as it was then.
absl::Status make_model_only(FileSystem& files, const std::string& path, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_
