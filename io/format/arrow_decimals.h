// Decimals of Arrow's arrays as integers and doubles. Included by .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_DECIMALS_H_
#define MILLRACE_IO_FORMAT_ARROW_DECIMALS_H_

#include <arrow/array/array_base.h>
#include <arrow/type.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/column.h"

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

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_DECIMALS_H_
