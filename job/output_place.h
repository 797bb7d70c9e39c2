// Checks of the places that a command is to write to.
#ifndef MILLRACE_JOB_OUTPUT_PLACE_H_
#define MILLRACE_JOB_OUTPUT_PLACE_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// Checks that `path` can be created, before the work. Errors: PermissionDenied with the problem of
// the directory above and a remedy; InvalidArgument of check_shell_path (base/path/path_check.h).
// Writes nothing.
absl::Status check_output_place(FileSystem& files, const std::string& path);

// Checks the same for a file, which may exist and will be replaced. Refuses directories and
// devices. Errors: InvalidArgument for "" too.
absl::Status check_output_file(FileSystem& files, const std::string& path);

// Returns true if this process may write a file, or create files in a directory.
bool writable(const std::string& path, bool is_directory);

}  // namespace millrace

#endif  // MILLRACE_JOB_OUTPUT_PLACE_H_
