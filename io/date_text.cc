#include "io/date_text.h"

#include "absl/strings/ascii.h"

namespace millrace {
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
