// Where a command is to write a file or directory that somebody named.
#ifndef MILLRACE_JOB_OUTPUT_PLACE_H_
#define MILLRACE_JOB_OUTPUT_PLACE_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// What stands in the way of making `path`, so that it shows before the work: PermissionDenied
// saying what is wrong with the directory above it, and what to do. Writes nothing.
// Errors: InvalidArgument of check_shell_path (base/path/shell_path.h) too.
absl::Status check_output_place(FileSystem& files, const std::string& path);

// The same for a file, which may be there already and will be replaced: no directory or device.
// Errors: InvalidArgument for "" too.
absl::Status check_output_file(FileSystem& files, const std::string& path);

// Whether this process may write a file, or make files in a directory.
bool writable(const std::string& path, bool is_directory);

}  // namespace millrace

#endif  // MILLRACE_JOB_OUTPUT_PLACE_H_
