// Cells of delimited text: missing values, decimal commas, and cells that are no numbers.
#ifndef MILLRACE_IO_LOOK_CELL_TEXT_H_
#define MILLRACE_IO_LOOK_CELL_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// Returns true for "nan" in any case, with or without a sign: the reader of delimited text takes it
// as a number.
bool is_nan_text(absl::string_view text);

// The texts of is_missing_text() that are usual, without signs and the "#IND" and "#QNAN" of C
// libraries.
absl::Span<const absl::string_view> plain_missing_texts();

// Returns true for the texts that pandas.read_csv takes as missing by default, such as "NA",
// "null" and "None", for is_nan_text(), and for "\N", which Hive and MySQL write.
bool is_missing_text(absl::string_view text);

// Parses a number without a decimal point, which may have a decimal comma and groups of three
// digits: "12", "-1,5", "1.234,50". Returns true if `text` is one, and sets *has_comma then.
bool parse_with_comma(absl::string_view text, bool* has_comma);

// Returns true for "007": a code, whose leading zero a number would lose.
bool has_leading_zero(absl::string_view text);

// Returns true for a number with a percent sign behind it, or with commas or blanks between groups
// of three digits: "12.3%", "1,234.5", "1 234". No reader takes it as a number.
bool is_near_number(absl::string_view text);

// Counts the cells of a column that are no numbers, and keeps examples. Not thread-safe.
class OddCells {
 public:
  // Adds a non-numeric cell, without surrounding blanks.
  void add(absl::string_view cell);

  // Returns true if at most a tenth of `cells` are odd and none has a leading zero: the column may
  // be meant to hold numbers. `cells`: all cells of the column except cells that denote a missing
  // value.
  bool are_few(int64_t cells) const;

  int64_t count() const { return count_; }
  // Up to three different ones, of at most 40 characters each.
  const std::vector<std::string>& texts() const { return texts_; }
  // The first one if all are is_near_number(), else "".
  std::string near_number() const;

 private:
  int64_t count_ = 0;
  std::vector<std::string> texts_;
  bool are_codes_ = false;  // some cell has_leading_zero()
  bool are_near_ = true;    // every cell is_near_number()
};

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_CELL_TEXT_H_
