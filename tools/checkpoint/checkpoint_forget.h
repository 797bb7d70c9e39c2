// Removes ids from the checkpoints of a folder.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_FORGET_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_FORGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace millrace {

// Removed data of one checkpoint.
struct ForgottenIds {
  std::string path;
  int64_t rows = 0;        // in the files of the checkpoint, with their slots and counts
  int64_t candidates = 0;  // admission counts of ids without a row
  int64_t evicted = 0;     // entries of the log of evicted ids
  int64_t tombstones = 0;  // of a delta

  int64_t total() const { return rows + candidates + evicted + tombstones; }
};

// The file in a folder of checkpoints with a line of JSON for each call of forget_ids().
inline constexpr char kForgottenName[] = "forgotten.jsonl";

// Removes the rows, slots, admission counts and log entries of `ids` of a table from every
// checkpoint in `folder`, deltas included, and adds a line to forgotten.jsonl: the time, the table,
// the number of ids, whether the call was complete, and the checkpoints with what they lost, but no
// id. The counters of a sketch (CountAdmission.sketch) stay: they belong to no id. Other state is
// unchanged, and training resumes from the checkpoints as before; ids that occur again get new
// rows.
//
// All checkpoints are written anew before the first one is replaced, the newest first, so that the
// disk holds the files of the table twice meanwhile. If the process ends in between, deltas that
// were replaced are unreadable until the call is repeated with the same ids; older checkpoints are
// readable at any time.
//
// Returns the checkpoints that lost something, by ascending step. Holds the lock of the folder.
// Errors: NotFound if no checkpoint has the table; FailedPrecondition if a run holds the folder,
// or if an earlier call was interrupted and had other ids; DataLoss for a damaged checkpoint, which
// may hold the ids: remove it first; ResourceExhausted without room on the disk; read and write
// errors. Nothing has been replaced then, except after an error of the replacement itself.
absl::StatusOr<std::vector<ForgottenIds>> forget_ids(FileSystem& files, const Clock& clock,
                                                     const std::string& folder,
                                                     const std::string& table,
                                                     const std::vector<int64_t>& ids);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_FORGET_H_
