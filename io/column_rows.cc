#include "io/column_rows.h"

#include "base/log.h"

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

}  // namespace

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
