// Rows of a column: which values they hold, and putting them into another.
#ifndef MILLRACE_IO_COLUMN_ROWS_H_
#define MILLRACE_IO_COLUMN_ROWS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/column.h"

namespace millrace {

// Returns the row that holds the value at `index`. `offsets` are the offsets of a column.
int64_t row_of_value(absl::Span<const int64_t> offsets, int64_t index);

// Appends rows [begin, end) of `from`. A column `to` without rows takes the type of `from`.
// REQUIRES: the range is within `from`; both have one type, unless `to` has no rows.
void append_rows(const Column& from, int64_t begin, int64_t end, Column& to);

// Makes a column of numbers one of the type `to`. A column without values may have any type.
// Returns the first row with a value that `to` does not hold exactly; the column is unchanged then.
// Values of rows in `omitted` do not matter.
// REQUIRES: is_number() of both types, unless there are no values or the types are equal.
std::optional<int64_t> convert_column(ValueType to, Column& column,
                                      const BadRows* omitted = nullptr);

// Returns a column of these rows, in this order. REQUIRES: they are rows of `from`.
Column gather_rows(const Column& from, absl::Span<const int32_t> rows);

}  // namespace millrace

#endif  // MILLRACE_IO_COLUMN_ROWS_H_
