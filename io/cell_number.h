// Numbers that are written as text, outside of the reader of delimited text.
#ifndef MILLRACE_IO_CELL_NUMBER_H_
#define MILLRACE_IO_CELL_NUMBER_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace millrace {

// Each of the following parses a whole text as cells of delimited text are parsed: decimal, without
// "+" and blanks; a boolean (io/boolean_text.h) is 1 or 0. Returns true if it is a number of the
// type, else false with *value = 0.

bool parse_cell_number(absl::string_view text, int64_t* value);
// Takes nan and inf, too.
bool parse_cell_number(absl::string_view text, double* value);

// Returns the character among '|', ';' and ' ' that separates the whole numbers of a list such as
// "470|1|2|3", and 0 for any other text, one number included.
char list_delimiter_of(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_IO_CELL_NUMBER_H_
