// The special characters of patterns of FileSystem::glob.
#ifndef MILLRACE_IO_FILES_GLOB_PATTERN_H_
#define MILLRACE_IO_FILES_GLOB_PATTERN_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true if `path` is matched against names; otherwise it is the path of one file.
bool is_glob_pattern(absl::string_view path);

// Returns a pattern that `path` alone matches.
std::string literal_pattern(absl::string_view path);

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_GLOB_PATTERN_H_
