// Rules of the numbers of retention.
#ifndef MILLRACE_CHECKPOINT_FOLDER_RETENTION_CHECK_H_
#define MILLRACE_CHECKPOINT_FOLDER_RETENTION_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the numbers of the message, and the counts of keep_best. Errors: InvalidArgument that
// begins with `where`, the place of the message in the configuration, and names the field.
absl::Status check_retention(absl::string_view where, const CheckpointConfig& config);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_RETENTION_CHECK_H_
