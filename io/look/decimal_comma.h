// Numbers that are written with decimal commas.
#ifndef MILLRACE_IO_LOOK_DECIMAL_COMMA_H_
#define MILLRACE_IO_LOOK_DECIMAL_COMMA_H_

#include "absl/strings/string_view.h"

namespace millrace {

// Parses a number without a decimal point, which may have a decimal comma and groups of three
// digits: "12", "-1,5", "1.234,50". Returns true if `text` is one, and sets *has_comma then.
bool parse_with_comma(absl::string_view text, bool* has_comma);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_DECIMAL_COMMA_H_
