// A checkpoint that has been saved.
#ifndef MILLRACE_CHECKPOINT_STATE_CHECKPOINT_INFO_H_
#define MILLRACE_CHECKPOINT_STATE_CHECKPOINT_INFO_H_

#include <string>

#include "base/progress.h"

namespace millrace {

// A durable checkpoint.
struct CheckpointInfo {
  std::string path;
  Progress progress;  // saved progress; may be older than the context's
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_CHECKPOINT_INFO_H_
