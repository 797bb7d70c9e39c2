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

std::optional<int64_t> parse_date(absl::string_view text) {
  if (text.size() != 7 && text.size() != 10) return std::nullopt;
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

}  // namespace millrace
