// From Arrow's arrays to our columns. Included by the readers' .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_
#define MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_

#include <arrow/array.h>
#include <arrow/type.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "io/column.h"
#include "io/file_reader.h"

namespace millrace {

// Describes a field: plain, list, large list or fixed-size list of integers, booleans, floats,
// dates, times, text or bytes, also dictionary-encoded. A field of Arrow's type null is empty.
FileColumn describe_field(const arrow::Field& field);

// What lists of this type hold; null if it is none of the list types above.
const arrow::DataType* list_value_type(const arrow::DataType& type);

// Appends the rows of `array` to `column`, whose type is that of describe_field or, for a field
// that is empty, any. Errors: DataLoss where the array contradicts itself; then the column is of no
// use.
absl::Status append_array(const arrow::Array& array, Column* column);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_COLUMNS_H_
