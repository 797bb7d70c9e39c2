// Checkpoints of a few kilobytes, for tests.
#ifndef MILLRACE_CHECKPOINT_TESTING_SMALL_CHECKPOINT_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_SMALL_CHECKPOINT_TESTING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// A model with the dense tensors "fc.weight" [3, 2], its optimizer state, and "on" (bool [3]), and
// a table "items" of dimension 3 in bfloat16 with a slot, in two files. Equal options give equal
// bytes, for any nonce and keep_files.
struct SmallCheckpoint {
  int64_t step = 1;
  int64_t seed = 1;  // of all values
  int64_t rows = 5;
  int world_size = 1;
  std::map<std::string, double> metrics = {};
  std::optional<CheckpointManifest::Base> base = std::nullopt;
  std::string nonce = "n1";
  bool finished = false;                            // in the manifest and the state files
  bool keep_files = false;                          // CommitOptions::keep_files
  std::optional<int64_t> best_step = std::nullopt;  // of the best score, which is 0.5
};

// Writes a checkpoint with CommitDirectory, all ranks one after the other. Returns false if the
// same checkpoint already existed.
absl::StatusOr<bool> write_small_checkpoint(FileSystem& files, const std::string& folder,
                                            const SmallCheckpoint& options);

// Opens the checkpoint and compares every byte with the output of write_small_checkpoint(). Errors:
// DataLoss if the checkpoint differs; read errors.
absl::Status check_small_checkpoint(FileSystem& files, const std::string& path,
                                    const SmallCheckpoint& options);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_SMALL_CHECKPOINT_TESTING_H_
