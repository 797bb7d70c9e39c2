// Rules of the numbers of a Saver.
#ifndef MILLRACE_CHECKPOINT_SAVER_CHECK_H_
#define MILLRACE_CHECKPOINT_SAVER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks max_deltas, write_threads, the patterns of `exclude`, the row filter and the numbers of
// retention.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field.
absl::Status check_saver(absl::string_view where, const CheckpointConfig& config);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_SAVER_CHECK_H_
