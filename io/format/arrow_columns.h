// Conversion of Arrow's arrays to our columns. Included by the readers' .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_
#define MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_

#include <arrow/array.h>
#include <arrow/type.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "io/bad_rows.h"
#include "io/column.h"
#include "io/file_reader.h"
#include "io/format/arrow_decimals.h"

namespace millrace {

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
