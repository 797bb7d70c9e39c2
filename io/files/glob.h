// Shell patterns of paths, also with ** for any number of directories.
#ifndef MILLRACE_IO_FILES_GLOB_H_
#define MILLRACE_IO_FILES_GLOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

// Returns true if `path` is matched against names; otherwise it is the path of one file.
bool is_glob_pattern(absl::string_view path);

// Returns a pattern that `path` alone matches.
std::string literal_pattern(absl::string_view path);

// Returns the paths that match `pattern`, sorted by name, as FileSystem::glob does. A part of the
// pattern that is ** also matches any number of directories, including none; as the last part it
// matches every file below. ** does not match names that begin with a dot, and does not follow
// symbolic links to directories.
// Errors: InvalidArgument for ** that is not a whole part of the path; errors of FileSystem.
absl::StatusOr<std::vector<std::string>> deep_glob(FileSystem& files, const std::string& pattern);

// Returns the files that `path` of a configuration names: itself if it is no pattern, or if a local
// file has this name, which may have characters of a pattern; else as deep_glob().
absl::StatusOr<std::vector<std::string>> named_files(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_GLOB_H_
