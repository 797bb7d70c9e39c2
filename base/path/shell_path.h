// Paths that a shell should have expanded.
#ifndef MILLRACE_BASE_PATH_SHELL_PATH_H_
#define MILLRACE_BASE_PATH_SHELL_PATH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Refuses `path` if it contains text that a shell would replace and that would become part of a
// name: ~ or ~user at its begin, $NAME or ${NAME} anywhere. Accepts any path that begins with ./
// unchanged. Errors: InvalidArgument with the path and what to write instead.
absl::Status check_shell_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_SHELL_PATH_H_
