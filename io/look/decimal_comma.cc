#include "io/look/decimal_comma.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

// Returns the length of the digits that `text` begins with, also in groups: "1.234.567".
size_t digits_length(absl::string_view text) {
  const auto count = [&](size_t begin) {
    size_t end = begin;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    return end - begin;
  };
  size_t length = count(0);
  if (length == 0 || length > 3) return length;
  while (length < text.size() && text[length] == '.' && count(length + 1) == 3) length += 4;
  return length;
}

}  // namespace

bool parse_with_comma(absl::string_view text, bool* has_comma) {
  absl::ConsumePrefix(&text, "-");
  const size_t whole = digits_length(text);
  if (whole == 0) return false;
  text.remove_prefix(whole);
  *has_comma = absl::ConsumePrefix(&text, ",");
  return text.empty() != *has_comma && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace millrace
