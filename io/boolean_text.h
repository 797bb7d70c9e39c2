// Booleans that are written as text.
#ifndef MILLRACE_IO_BOOLEAN_TEXT_H_
#define MILLRACE_IO_BOOLEAN_TEXT_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true for "True", "true" and "TRUE", false for "False", "false" and "FALSE", as pandas
// reads booleans, and none for any other text.
inline std::optional<bool> parse_boolean(absl::string_view text) {
  if (text == "True" || text == "true" || text == "TRUE") return true;
  if (text == "False" || text == "false" || text == "FALSE") return false;
  return std::nullopt;
}

}  // namespace millrace

#endif  // MILLRACE_IO_BOOLEAN_TEXT_H_
