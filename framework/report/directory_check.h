// Checks of directories and files that a configuration names.
#ifndef MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Returns OK if a sink or a hook may write files into `directory`, a path relative to the output
// directory of the run. Errors: InvalidArgument, with `where` at the beginning, for an absolute
// path, for a path with ".", ".." or double slashes, and for a path that Millrace itself writes to
// or that has the name of a file that runs write into their directories, such as train.jsonl.
absl::Status check_directory(absl::string_view where, const std::string& directory);

// Returns OK if the hook mllog may write `file`, a path relative to the output directory of the
// run. Errors: as check_directory().
absl::Status check_file(absl::string_view where, const std::string& file);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_DIRECTORY_CHECK_H_
