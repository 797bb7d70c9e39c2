// Errors that name a path.
#ifndef MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_
#define MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns `status` with "PATH: " before its message, unless the message already names the path or a
// path below it. Returns an OK status unchanged.
absl::Status name_path(absl::Status status, absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_
