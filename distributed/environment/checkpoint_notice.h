// Notice of checkpoints from a rank to the launcher that started it.
#ifndef MILLRACE_DISTRIBUTED_ENVIRONMENT_CHECKPOINT_NOTICE_H_
#define MILLRACE_DISTRIBUTED_ENVIRONMENT_CHECKPOINT_NOTICE_H_

#include <cstdint>

#include "distributed/environment/environment_variables.h"

namespace millrace {

// The variable with the descriptor of a file that a rank inherits from its launcher. The rank
// appends a line with the step of each checkpoint that is complete.
inline constexpr char kCheckpointNotice[] = "MILLRACE_CHECKPOINT_NOTICE";
// The name of this file, which memfd_create() made.
inline constexpr char kCheckpointFile[] = "checkpoints";

// Appends the step to the file of the launcher. Does nothing without the variable, or if its
// descriptor is another file, and ignores errors: the launcher then counts a restart that it need
// not count.
void notify_launcher_of_checkpoint(const GetVariable& get, int64_t step);

// Returns the highest step of the file; -1 if it has none.
int64_t last_noticed_step(int file);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENVIRONMENT_CHECKPOINT_NOTICE_H_
