// A check of the options of a loss.
#ifndef MILLRACE_LOSSES_LOSS_CHECK_H_
#define MILLRACE_LOSSES_LOSS_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the weight of a task and the options of its loss. Errors: InvalidArgument that begins with
// `where`, the place of the task in the configuration, and names all wrong fields.
absl::Status check_loss(absl::string_view where, const TaskConfig& task);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_LOSS_CHECK_H_
