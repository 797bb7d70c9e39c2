#include "io/column_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "io/exact_integer.h"

namespace millrace {
namespace {

void append_values(const Column& from, int64_t begin, int64_t end, Column& to) {
  switch (from.type) {
    case ValueType::kInt64:
    case ValueType::kUint64:
      to.int64s.insert(to.int64s.end(), from.int64s.begin() + begin, from.int64s.begin() + end);
      break;
    case ValueType::kDouble:
      to.doubles.insert(to.doubles.end(), from.doubles.begin() + begin, from.doubles.begin() + end);
      break;
    case ValueType::kString:
    case ValueType::kText:
      for (int64_t i = begin; i < end; ++i) to.strings.push_back(from.strings[i]);
      break;
  }
}

// Appends one number in the type `to`. Returns false if `to` does not hold it exactly; the appended
// number has no meaning then.
bool convert_number(ValueType from, ValueType to, int64_t bits, double number, Column& converted) {
  if (from == ValueType::kDouble) {
    const bool fits = is_exact_integer(number) && (to != ValueType::kUint64 || number >= 0);
    converted.int64s.push_back(fits ? static_cast<int64_t>(number) : 0);
    return fits;
  }
  if (to != ValueType::kDouble) {
    converted.int64s.push_back(bits);
    return bits >= 0;  // the other type of integers has no such number
  }
  const double value = from == ValueType::kUint64 ? static_cast<double>(static_cast<uint64_t>(bits))
                                                  : static_cast<double>(bits);
  converted.doubles.push_back(value);
  return std::abs(value) < kExactIntegers;
}

}  // namespace

int64_t row_of_value(absl::Span<const int64_t> offsets, int64_t index) {
  if (offsets.empty()) return index;
  return std::upper_bound(offsets.begin(), offsets.end(), index) - offsets.begin() - 1;
}

std::optional<int64_t> convert_column(ValueType to, Column& column, const BadRows* omitted) {
  if (column.type == to) return std::nullopt;
  if (column.values() == 0) {
    column.type = to;
    return std::nullopt;
  }
  MILLRACE_CHECK(is_number(column.type) && is_number(to)) << "only numbers become others";
  Column converted;
  const bool is_double = column.type == ValueType::kDouble;
  for (int64_t row = 0; row < column.rows; ++row) {
    for (int64_t i = column.begin(row); i < column.end(row); ++i) {
      if (!convert_number(column.type, to, is_double ? 0 : column.int64s[i],
                          is_double ? column.doubles[i] : 0, converted) &&
          (omitted == nullptr || !omitted->contains(row))) {
        return row;
      }
    }
  }
  column.int64s = std::move(converted.int64s);
  column.doubles = std::move(converted.doubles);
  column.type = to;
  return std::nullopt;
}

void append_rows(const Column& from, int64_t begin, int64_t end, Column& to) {
  if (to.rows == 0) to.type = from.type;
  MILLRACE_CHECK(to.type == from.type) << "columns of two types";
  if (begin == end) return;
  if (!from.offsets.empty()) make_jagged(to);
  if (!to.offsets.empty()) {
    const int64_t moved = to.offsets.back() - from.begin(begin);
    for (int64_t row = begin; row < end; ++row) to.offsets.push_back(from.end(row) + moved);
  }
  append_values(from, from.begin(begin), from.end(end - 1), to);
  to.rows += end - begin;
}

Column gather_rows(const Column& from, absl::Span<const int32_t> rows) {
  Column gathered;
  gathered.type = from.type;
  for (const int32_t row : rows) append_rows(from, row, row + 1, gathered);
  return gathered;
}

}  // namespace millrace
