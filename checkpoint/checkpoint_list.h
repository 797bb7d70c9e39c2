// Which checkpoints there are, from what is on disk alone.
#ifndef MILLRACE_CHECKPOINT_CHECKPOINT_LIST_H_
#define MILLRACE_CHECKPOINT_CHECKPOINT_LIST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint_reader.h"

namespace millrace {

// One that has the name of a checkpoint.
struct ListedCheckpoint {
  int64_t step = 0;
  std::string path;
  // Null if something is wrong with it: then `status` says what.
  std::unique_ptr<CheckpointReader> reader;
  absl::Status status;
};

// All checkpoints in a folder by ascending step, each as far as CheckpointReader::open checks it.
// One that was being replaced when its writer died is listed under its aside name. Files, and what
// has other names, are none. No folder is an empty one. Borrows `files`.
// Errors: those of listing the folder.
absl::StatusOr<std::vector<ListedCheckpoint>> list_checkpoints(FileSystem& files,
                                                               const std::string& folder);

// A checkpoint and, for a delta, those that it changes: the whole one first, each next one a delta
// on the one before. Borrows `files`.
// Errors: those of CheckpointReader::open; DataLoss naming a base that is missing or another.
absl::StatusOr<std::vector<std::unique_ptr<CheckpointReader>>> open_chain(FileSystem& files,
                                                                          const std::string& path);

// How much of a checkpoint is looked at before it is trusted.
enum class Check {
  kQuick,  // what CheckpointReader::open checks, for it and its bases
  kFull    // every byte
};

struct NewestCheckpoint {
  // As open_chain gives it; empty if there is none that verifies.
  std::vector<std::unique_ptr<CheckpointReader>> chain;
  // What was wrong with newer ones, newest first. Each names its path.
  std::vector<absl::Status> damaged;
};

// Whether one with this error is passed over for the one before it: DataLoss, NotFound.
bool is_damage(const absl::Status& status);

// Uses a checkpoint, and so finds what is wrong with its bytes.
using UseChain = std::function<absl::Status(CheckpointChain chain)>;

// The checkpoint of the largest step that `use` takes. Errors: those of listing the folder; one of
// `use` that is no damage.
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   const UseChain& use);

// The newest of `checkpoints` that verifies, with all that it needs of them: indices, the whole one
// first. Empty if none does. What was wrong with newer ones is added to `damaged`, newest first.
// `checkpoints`: as list_checkpoints gives them.
std::vector<size_t> find_newest(const std::vector<ListedCheckpoint>& checkpoints, Check check,
                                ThreadPool& threads, std::vector<absl::Status>* damaged);

// The checkpoint of the largest step that verifies. Errors: those of listing the folder.
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   Check check, ThreadPool& threads);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_CHECKPOINT_LIST_H_
