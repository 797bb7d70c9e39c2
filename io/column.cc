#include "io/column.h"

#include <numeric>

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

bool is_number(ValueType type) {
  return type == ValueType::kInt64 || type == ValueType::kUint64 || type == ValueType::kDouble;
}

int64_t Column::bytes() const {
  const size_t words = offsets.size() + int64s.size() + doubles.size();
  return static_cast<int64_t>(words * sizeof(int64_t)) +
         strings.size() * static_cast<int64_t>(sizeof(int64_t)) + strings.bytes();
}

void make_jagged(Column& column) {
  if (!column.offsets.empty()) return;
  column.offsets.resize(column.rows + 1);
  std::iota(column.offsets.begin(), column.offsets.end(), 0);
}

void append_empty_rows(int64_t count, Column* column) {
  make_jagged(*column);
  column->offsets.resize(column->offsets.size() + count, column->offsets.back());
  column->rows += count;
}

void simplify_offsets(Column& column) {
  for (int64_t row = 0; row <= column.rows; ++row) {
    if (column.offsets[row] != row) return;
  }
  column.offsets.clear();
}

}  // namespace millrace
