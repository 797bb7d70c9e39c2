// The configuration of delimited text: rules and advice.
#ifndef MILLRACE_IO_FORMAT_CSV_CONFIG_H_
#define MILLRACE_IO_FORMAT_CSV_CONFIG_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks delimiters, columns and what a TYPED header leaves open. Errors: InvalidArgument that
// begins with `where`, the place of the message in the configuration, and names the field.
absl::Status check_csv(absl::string_view where, const CsvConfig& csv);

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

#endif  // MILLRACE_IO_FORMAT_CSV_CONFIG_H_
