// Checks of paths that a user gives.
#ifndef MILLRACE_BASE_PATH_PATH_CHECK_H_
#define MILLRACE_BASE_PATH_PATH_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

// Refuses a pipe or a device: bytes can be read only once, and opening may wait for a writer. For
// files read in pieces, twice, or again by a later run. Does not open the file. Accepts
// directories. Errors: InvalidArgument naming the file and what to do; as FileSystem::info().
absl::Status check_rereadable(FileSystem& files, const std::string& path);
// Does the same with the known `info` of the file. Errors: only InvalidArgument.
absl::Status check_rereadable(const std::string& path, const FileInfo& info);

// Refuses `path` if a shell would replace a part of the text: ~ or ~user at the begin, $NAME or
// ${NAME} anywhere. Accepts any path that begins with ./ unchanged. Errors: InvalidArgument with
// the path and what to write instead.
absl::Status check_shell_path(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_PATH_CHECK_H_
