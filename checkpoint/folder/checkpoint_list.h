// Which checkpoints there are, from what is on disk alone.
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

// One that has the name of a checkpoint.
struct ListedCheckpoint {
  int64_t step = 0;
  std::string path;
  // Null if something is wrong with it: then `status` says what.
  std::unique_ptr<CheckpointReader> reader;
  absl::Status status;
  // Where `reader` is null: the manifest, if that at least can be read.
  std::optional<CheckpointManifest> manifest = std::nullopt;
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

// One that is listed and, for a delta, those that it changes: indices into `checkpoints`, the whole
// one first. Errors: those of open_chain.
absl::StatusOr<std::vector<size_t>> listed_chain(absl::Span<const ListedCheckpoint> checkpoints,
                                                 size_t index);

// What is done if the newest checkpoint is damaged.
enum class OnDamage {
  kFallback,  // the one before it is used, with a warning
  kStrict     // an error
};

// Whether one with this error is passed over for the one before it: DataLoss, NotFound. What else
// there may be (a newer format, another model, a disk that cannot be read) says nothing of its
// content: an older one in its place would be a step back that nobody asked for.
bool is_damage(const absl::Status& status);

// Returns the paths of `checkpoints`, which are as list_checkpoints gives them, by descending step.
std::vector<std::string> newest_first(absl::Span<const ListedCheckpoint> checkpoints);

struct NewestSearch {
  std::optional<size_t> found;        // index of its path; none: there is none
  std::vector<absl::Status> damaged;  // what was wrong with newer ones, newest first
};

// Whether checkpoint number `index` is the one that is sought. False: it is whole, but is not.
using TryCheckpoint = absl::FunctionRef<absl::StatusOr<bool>(size_t index)>;

// The way that everybody goes who looks for the newest checkpoint: from the first of `paths`, which
// are by descending step, past those that are damaged, to the first that is what is sought.
// Errors: one of `use` that is no damage, or for OnDamage::kStrict any; all of them, and those in
// `damaged`, name the path.
absl::StatusOr<NewestSearch> search_newest(absl::Span<const std::string> paths, OnDamage on_damage,
                                           TryCheckpoint use);

struct NewestCheckpoint {
  // As open_chain gives it; empty if there is none that verifies.
  std::vector<std::unique_ptr<CheckpointReader>> chain;
  // What was wrong with newer ones, newest first. Each names its path.
  std::vector<absl::Status> damaged;
};

// Uses a checkpoint, and so finds what is wrong with its bytes.
using UseChain = std::function<absl::Status(CheckpointChain chain)>;

// The checkpoint of the largest step that `use` takes. Errors: those of listing the folder and of
// search_newest.
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   const UseChain& use);

// The checkpoint of the largest step that verifies. Errors: the same.
absl::StatusOr<NewestCheckpoint> newest_checkpoint(FileSystem& files, const std::string& folder,
                                                   Check check, ThreadPool& threads);

// The newest of `checkpoints` that verifies, with all that it needs of them, as listed_chain gives
// it. Empty if none does. What was wrong with newer ones is added to `damaged`, newest first.
// `checkpoints`: as list_checkpoints gives them. Errors: those of search_newest.
absl::StatusOr<std::vector<size_t>> find_newest(absl::Span<const ListedCheckpoint> checkpoints,
                                                Check check, ThreadPool& threads,
                                                std::vector<absl::Status>* damaged);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CHECKPOINT_LIST_H_
