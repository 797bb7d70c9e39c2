// Goes back to the beginning of a window.
#ifndef MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REWIND_H_
#define MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REWIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/file_system.h"

namespace millrace {

struct Rewound {
  int64_t window = 0;                // the one to train on again, and those behind it
  std::string name;                  // of the window
  std::string checkpoint;            // from which training resumes
  int64_t step = 0;                  // of the checkpoint
  int64_t windows = 0;               // that the checkpoint holds
  std::vector<std::string> removed;  // newer checkpoints, the newest first
  std::vector<std::string> missing;  // files of these windows that are no longer there
};

// Makes the job of `output_dir` resume from its newest checkpoint in which nothing of `window` was
// trained on: removes the checkpoints behind it, drops the windows that it does not hold from
// windows.jsonl, and adds an event `rewound` to events.jsonl. `window`: a name in windows.jsonl, or
// a number, counted from 0. `only_look`: changes nothing. A call that was interrupted can be
// repeated.
// Errors: NotFound for a job without windows, or without this one; InvalidArgument for a name of
// several windows; FailedPrecondition if no checkpoint is old enough, or a run holds the folder;
// read and write errors.
absl::StatusOr<Rewound> rewind_to_window(FileSystem& files, Clock& clock,
                                         const std::string& output_dir, const std::string& window,
                                         bool only_look);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_CHECKPOINT_REWIND_H_
