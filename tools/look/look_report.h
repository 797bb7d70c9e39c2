// The output of `millrace data`.
#ifndef MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_
#define MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "io/look/data_look.h"

namespace millrace {

// Returns lines for people of at most 80 columns: the files, a table of the columns, the label by
// file, and leakage. Long names and paths are shortened to distinct texts (short_names()); long
// paths lose the common directories.
std::string look_text(const DataLook& look);

// Returns a JSON object; docs/first_job.md describes its fields.
std::string look_json(const DataLook& look);

// Returns each UTF-8 text on one line, in at most `limit` bytes. Longer texts are cut in the
// middle, which becomes "~". Texts that would be equal then end with "~#N", where N is the number
// of the text, from 1. REQUIRES: limit >= 12.
std::vector<std::string> short_names(absl::Span<const std::string> texts, size_t limit);

// Returns the paths without their common leading directories.
std::vector<std::string> without_common_directories(std::vector<std::string> paths);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LOOK_LOOK_REPORT_H_
