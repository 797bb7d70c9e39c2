// Distinct short names for a table.
#ifndef MILLRACE_TOOLS_LOOK_SHORT_NAMES_H_
#define MILLRACE_TOOLS_LOOK_SHORT_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// Returns each UTF-8 text on one line, in at most `limit` bytes. Longer texts are cut in the
// middle, which becomes "~". Texts that would be equal then end with "~#N", where N is the number
// of the text, from 1. REQUIRES: limit >= 12.
std::vector<std::string> short_names(absl::Span<const std::string> texts, size_t limit);

// Returns the paths without their common leading directories.
std::vector<std::string> without_common_directories(std::vector<std::string> paths);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LOOK_SHORT_NAMES_H_
