#include "io/text_values.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

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

namespace {

bool is_month_and_day(int64_t month, int64_t day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

}  // namespace

bool is_date_number(int64_t number) {
  if (number < 19000101 || number > 21001231) return false;
  return is_month_and_day(number / 100 % 100, number % 100);
}

int date_digits(int64_t number) {
  const auto is_year = [](int64_t year) { return year >= 1900 && year <= 2100; };
  if (is_year(number)) return 4;
  if (is_year(number / 100)) return 6;
  return is_year(number / 10000) ? 8 : 0;
}

std::optional<int64_t> parse_date(absl::string_view text) {
  if (text.size() != 7 && text.size() != 10) return std::nullopt;
  if (text[4] != '-') return std::nullopt;  // numbers, at once
  int64_t date = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 4 || i == 7;
    if (is_dash ? text[i] != '-' : !absl::ascii_isdigit(text[i])) return std::nullopt;
    if (!is_dash) date = 10 * date + (text[i] - '0');
  }
  const bool has_day = text.size() == 10;
  if (!is_month_and_day(has_day ? date / 100 % 100 : date % 100, has_day ? date % 100 : 1)) {
    return std::nullopt;
  }
  return date;
}

bool begins_with_date(absl::string_view text) {
  constexpr size_t kBytes = 10;  // YYYY-MM-DD
  if (text.size() > kBytes && text[kBytes] != ' ' && text[kBytes] != 'T') return false;
  return text.size() >= kBytes && parse_date(text.substr(0, kBytes)).has_value();
}

}  // namespace millrace
