// A list of files that a program has written, kept in a file beside them.
#ifndef MILLRACE_BASE_PATH_FILE_SIZES_H_
#define MILLRACE_BASE_PATH_FILE_SIZES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// File name → size in bytes when it was written: a file of another size is somebody else's.
using FileSizes = std::map<std::string, int64_t>;

// Returns the text of a list: a line for each file, "NAME SIZE". A name may hold no space and no
// line end.
std::string file_sizes_text(const FileSizes& sizes);

// Reads such lines. Lines that have no size are left out.
FileSizes parse_file_sizes(absl::string_view lines);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_FILE_SIZES_H_
