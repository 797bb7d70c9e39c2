#include "io/column.h"

namespace millrace {

absl::string_view describe(ValueType type) {
  switch (type) {
    case ValueType::kInt64: return "integers";
    case ValueType::kUint64: return "unsigned integers";
    case ValueType::kDouble: return "numbers";
    case ValueType::kString: return "text";
    case ValueType::kText: return "delimited text";
  }
  return "";
}

void simplify_offsets(Column& column) {
  for (int64_t row = 0; row <= column.rows; ++row) {
    if (column.offsets[row] != row) return;
  }
  column.offsets.clear();
}

}  // namespace millrace
