// Checkpoints without the parts that only training needs.
#ifndef MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_
#define MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Returns true if a checkpoint has parts other than DENSE and ROWS.
bool has_training_state(const CheckpointManifest& manifest);

// Replaces a checkpoint by a checkpoint with only the parts DENSE and ROWS. Commits it as every
// checkpoint, so that at any time either the old or the new checkpoint exists. Checks the kept data
// as it is read. Leaves a checkpoint without other parts unchanged.
// `token`: as CommitOptions::token. REQUIRES: not a delta; the caller holds the lock of the folder.
// Errors: any error of CheckpointReader, check_free_space() and CommitDirectory; the checkpoint is
// then unchanged.
absl::Status make_model_only(FileSystem& files, const std::string& path, ThreadPool& threads,
                             const std::string& token = "");

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_MODEL_ONLY_H_
