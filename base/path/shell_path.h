// Paths that a shell should have expanded.
#ifndef MILLRACE_BASE_PATH_SHELL_PATH_H_
#define MILLRACE_BASE_PATH_SHELL_PATH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Refuses `path` if it holds what a shell replaces but a program does not, and which would become
// a name: ~ or ~user at its begin, $NAME or ${NAME} anywhere. A path that begins with ./ is taken
// as it is. Errors: InvalidArgument with the path and what to write instead.
absl::Status check_shell_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_SHELL_PATH_H_
