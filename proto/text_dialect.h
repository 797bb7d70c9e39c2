// Recognizes files in another language than protobuf text format.
#ifndef MILLRACE_PROTO_TEXT_DIALECT_H_
#define MILLRACE_PROTO_TEXT_DIALECT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `text` without a leading byte order mark of UTF-8.
absl::string_view without_byte_order_mark(absl::string_view text);

// Explains a text that could not be parsed: data, UTF-16, JSON, YAML, or a comment of C++ in line
// `line` (from 1; 0: not known). Returns: "; ..." to append to the error message, or "".
std::string dialect_hint(absl::string_view text, int line);

}  // namespace millrace

#endif  // MILLRACE_PROTO_TEXT_DIALECT_H_
