// Errors that say where.
#ifndef MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_
#define MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// `status` with "PATH: " before its message, unless that names the path, or something in it,
// already. Unchanged if it is OK.
absl::Status name_path(absl::Status status, absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_NAME_PATH_H_
