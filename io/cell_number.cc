#include "io/cell_number.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
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

char list_delimiter_of(absl::string_view text) {
  const size_t first = text.find_first_of("|; ");
  if (first == absl::string_view::npos) return 0;
  for (absl::string_view piece : absl::StrSplit(text, text[first])) {
    absl::ConsumePrefix(&piece, "-");
    if (piece.empty() || !std::all_of(piece.begin(), piece.end(), absl::ascii_isdigit)) return 0;
  }
  return text[first];
}

}  // namespace millrace
