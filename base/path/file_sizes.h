// A list of the files that a program wrote, in a file of the same directory.
#ifndef MILLRACE_BASE_PATH_FILE_SIZES_H_
#define MILLRACE_BASE_PATH_FILE_SIZES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// File name → size in bytes when it was written. A file of another size was written by another
// program.
using FileSizes = std::map<std::string, int64_t>;

// Returns the text of a list: a line for each file, "NAME SIZE". A name may hold no space and no
// line end.
std::string file_sizes_text(const FileSizes& sizes);

// Reads these lines. Skips lines without a size.
FileSizes parse_file_sizes(absl::string_view lines);

}  // namespace millrace

#endif  // MILLRACE_BASE_PATH_FILE_SIZES_H_
