// Files that can be read more than once.
#ifndef MILLRACE_BASE_PATH_REREADABLE_H_
#define MILLRACE_BASE_PATH_REREADABLE_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// Refuses a pipe or a device: bytes can be read only once, and opening may wait for a writer. For
// files read in pieces, twice, or again by a later run. Does not open the file. Accepts
// directories. Errors: InvalidArgument naming the file and what to do; as FileSystem::info().
absl::Status check_rereadable(FileSystem& files, const std::string& path);
// Does the same with the known `info` of the file. Errors: only InvalidArgument.
absl::Status check_rereadable(const std::string& path, const FileInfo& info);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_REREADABLE_H_
