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

// Stands for the best checkpoint behind the path of an output directory or a folder of checkpoints.
inline constexpr char kBestName[] = "best";

// Returns the index of the best checkpoint: the newest one's manifest says of which step it is.
// None: the newest knows no best score, or the best one is not among `usable`. `usable`: indices
// into `checkpoints` by ascending step, of those that training could resume from as far as known.
std::optional<size_t> find_best(const std::vector<ListedCheckpoint>& checkpoints,
                                const std::vector<size_t>& usable);

// Returns the path of the best checkpoint of a folder. Checkpoints that are damaged, as far as a
// listing shows, count for nothing. Errors: NotFound if there is no checkpoint, the newest knows no
// best score, or the best one is not there; those of list_checkpoints.
absl::StatusOr<std::string> best_checkpoint(FileSystem& files, const std::string& folder);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_BEST_CHECKPOINT_H_
