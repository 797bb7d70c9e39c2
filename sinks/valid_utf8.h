// Text that is valid UTF-8.
#ifndef MILLRACE_SINKS_VALID_UTF8_H_
#define MILLRACE_SINKS_VALID_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns `text` with U+FFFD in place of bytes that are not UTF-8.
std::string valid_utf8(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_SINKS_VALID_UTF8_H_
