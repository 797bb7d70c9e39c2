// Advice on the delimiter of delimited text.
#ifndef MILLRACE_IO_FORMAT_DELIMITER_HINT_H_
#define MILLRACE_IO_FORMAT_DELIMITER_HINT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `delimiter` in quotes, as a configuration has it: "\t" for a tab.
std::string quoted_delimiter(char delimiter);

// Returns the setting of a configuration: csv { delimiter: ";" }.
std::string delimiter_setting(char delimiter);

// Guesses what separates the cells of `line`, which is a single cell by the configured delimiter.
// Returns: "; ..." that names the delimiter to set, to end an error message with, or "" if no usual
// delimiter occurs.
std::string delimiter_hint(absl::string_view line);

// Returns the same for `text` that follows the closing quote of a cell, where the delimiter should
// be: names the first character of `text` if it is a usual delimiter, and no blank.
std::string delimiter_hint_behind_quote(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_DELIMITER_HINT_H_
