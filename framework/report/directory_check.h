// Checks of directories that a configuration names.
#ifndef MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns OK if a sink or a hook may write files into `directory`, a path relative to the output
// directory of the run. Errors: InvalidArgument, which begins with `where`, for an absolute path or
// one with ".", ".." or double slashes, and for a path that Millrace itself writes to.
absl::Status check_directory(absl::string_view where, const std::string& directory);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_
