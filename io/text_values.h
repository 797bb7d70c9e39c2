// Numbers, booleans and dates that are written as text or as decimal numbers.
#ifndef MILLRACE_IO_TEXT_VALUES_H_
#define MILLRACE_IO_TEXT_VALUES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace millrace {

// Each of the following parses a whole text as cells of delimited text are parsed: decimal, without
// "+" and blanks; a boolean (parse_boolean) is 1 or 0. Returns true if it is a number of the
// type, else false with *value = 0.

bool parse_cell_number(absl::string_view text, int64_t* value);
// Takes nan and inf, too.
bool parse_cell_number(absl::string_view text, double* value);

// Returns the character among '|', ';' and ' ' that separates the whole numbers of a list such as
// "470|1|2|3", and 0 for any other text, one number included.
char list_delimiter_of(absl::string_view text);

// Returns true for "True", "true" and "TRUE", false for "False", "false" and "FALSE", as pandas
// reads booleans, and none for any other text.
inline std::optional<bool> parse_boolean(absl::string_view text) {
  if (text == "True" || text == "true" || text == "TRUE") return true;
  if (text == "False" || text == "false" || text == "FALSE") return false;
  return std::nullopt;
}

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

#endif  // MILLRACE_IO_TEXT_VALUES_H_
