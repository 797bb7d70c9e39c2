// Texts that stand for a missing value.
#ifndef MILLRACE_IO_LOOK_MISSING_TEXT_H_
#define MILLRACE_IO_LOOK_MISSING_TEXT_H_

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

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_MISSING_TEXT_H_
