#include "io/cell_number.h"

#include <fast_float/fast_float.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "io/boolean_text.h"

namespace millrace {
namespace {

// `parsed`: where and how parsing the text as a number ended.
template <typename T, typename Parsed>
bool is_number_or_boolean(absl::string_view text, const Parsed& parsed, T* value) {
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) return true;
  const std::optional<bool> boolean = parse_boolean(text);
  *value = boolean.value_or(false) ? 1 : 0;
  return boolean.has_value();
}

}  // namespace

bool parse_cell_number(absl::string_view text, int64_t* value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *value);
  return is_number_or_boolean(text, parsed, value);
}

bool parse_cell_number(absl::string_view text, double* value) {
  const auto parsed = fast_float::from_chars(text.data(), text.data() + text.size(), *value);
  return is_number_or_boolean(text, parsed, value);
}

}  // namespace millrace
