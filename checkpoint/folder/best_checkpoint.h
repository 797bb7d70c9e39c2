// The checkpoint with the best score of a run.
#ifndef MILLRACE_CHECKPOINT_FOLDER_BEST_CHECKPOINT_H_
#define MILLRACE_CHECKPOINT_FOLDER_BEST_CHECKPOINT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
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

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_BEST_CHECKPOINT_H_
