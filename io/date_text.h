// Dates that are written as text or as decimal numbers.
#ifndef MILLRACE_IO_DATE_TEXT_H_
#define MILLRACE_IO_DATE_TEXT_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true for YYYYMMDD of the years 1900 to 2100, such as 20240131, with a month of 1 to 12
// and a day of 1 to 31.
bool is_date_number(int64_t number);

// Returns 8 for YYYYMMDD, 6 for YYYYMM and 4 for YYYY of the years 1900 to 2100, with any month and
// day, and 0 for other numbers.
int date_digits(int64_t number);

// Returns YYYYMMDD of a text YYYY-MM-DD and YYYYMM of a text YYYY-MM, which are in the order of the
// dates; none for any other text, and for months and days that there are not.
std::optional<int64_t> parse_date(absl::string_view text);

// Returns true for a text YYYY-MM-DD, and for such a text followed by a blank or "T", as a time of
// the day does.
bool begins_with_date(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_IO_DATE_TEXT_H_
