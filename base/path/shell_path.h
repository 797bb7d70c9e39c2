// Paths that a shell should have expanded.
#ifndef MILLRACE_BASE_PATH_SHELL_PATH_H_
#define MILLRACE_BASE_PATH_SHELL_PATH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Refuses `path` if a shell would replace a part of the text: ~ or ~user at the begin, $NAME or
// ${NAME} anywhere. Accepts any path that begins with ./ unchanged. Errors: InvalidArgument with
// the path and what to write instead.
absl::Status check_shell_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_SHELL_PATH_H_
