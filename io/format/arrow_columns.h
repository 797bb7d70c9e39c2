// Conversion of Arrow's arrays to our columns. Included by the readers' .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_
#define MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_

#include <arrow/array.h>
#include <arrow/array/array_base.h>
#include <arrow/type.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/column.h"
#include "io/file_reader.h"

namespace millrace {

// A value that its column cannot hold; the column has another one in its place.
struct BadValue {
  int64_t index = 0;  // in the values of the column
  std::string what;   // "12345678901234567890 does not fit a 64-bit integer"
};

// Returns the type that decimals are kept in: kInt64 without digits behind the point (scale 0 or
// below), else kDouble.
ValueType type_of_decimals(const arrow::DecimalType& type);

// Appends values [begin, begin + count) of an array of decimals of 32, 64, 128 or 256 bits.
// Doubles are the nearest ones, of two equally near the even one. An integer beyond 64 bits is
// added to `bad`, and 0 is appended. REQUIRES: none of the values is null.
void append_decimals(const arrow::Array& array, int64_t begin, int64_t count, Column* out,
                     std::vector<BadValue>* bad);

// Describes a field: plain, list, large list or fixed-size list of integers, booleans, floats of 16
// bits and more, decimals, dates, times, text or bytes, also dictionary-encoded. A field of Arrow's
// type null is empty.
FileColumn describe_field(const arrow::Field& field);

// Returns the element type of lists of this type; null for other than the list types above.
const arrow::DataType* list_value_type(const arrow::DataType& type);

// Appends the rows of `array` to `column`, whose type is the type of describe_field or, for a field
// that is empty, any. Adds decimals that do not fit to `bad`.
// Errors: DataLoss where the array contradicts itself; then the column is of no use.
absl::Status append_array(const arrow::Array& array, Column* column, std::vector<BadValue>* bad);

// The place of rows of a column, for messages.
struct ColumnOrigin {
  std::string group;      // "FILE, row group 3"
  std::string column;     // name
  int64_t first_row = 0;  // of the column in the group
};

// Adds the rows of bad values of a column. Errors: as `bad`.
absl::Status add_bad_values(const Column& column, absl::Span<const BadValue> values,
                            const ColumnOrigin& origin, BadRows& bad);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_
