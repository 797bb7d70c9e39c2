#include "io/transform/transform_testing.h"

#include <utility>

#include "base/status_matchers.h"
#include "io/bad_rows.h"

namespace millrace {
namespace {

FeatureValues apply(const Transform& transform, const Column& column, const IdColumn& crossed,
                    FeatureValues values) {
  BadRows bad(column.rows, /*skip=*/false);
  const IdColumn* const others[] = {&crossed};
  EXPECT_OK(transform.apply({column, {"file", "column"}, bad, nullptr, others}, &values));
  return values;
}

}  // namespace

IdColumn id_lists(const std::vector<std::vector<int64_t>>& rows) {
  IdColumn column;
  column.rows = static_cast<int64_t>(rows.size());
  column.offsets = {0};
  for (const std::vector<int64_t>& row : rows) {
    column.values.insert(column.values.end(), row.begin(), row.end());
    column.offsets.push_back(static_cast<int64_t>(column.values.size()));
  }
  return column;
}

IdColumn id_column(std::vector<int64_t> ids) {
  IdColumn column;
  column.rows = static_cast<int64_t>(ids.size());
  column.values = std::move(ids);
  return column;
}

FeatureValues apply_to_ids(const Transform& transform, IdColumn ids, const IdColumn& crossed) {
  Column column;
  column.rows = ids.rows;
  column.offsets = ids.offsets;
  column.int64s = ids.values;
  return apply(transform, column, crossed, {.are_ids = true, .list = std::move(ids)});
}

FeatureValues apply_to_numbers(const Transform& transform, std::vector<double> numbers) {
  Column column;
  column.type = ValueType::kDouble;
  column.rows = static_cast<int64_t>(numbers.size());
  column.doubles = numbers;
  FeatureValues values;
  values.list.rows = column.rows;
  values.numbers = std::move(numbers);
  return apply(transform, column, {}, std::move(values));
}

FeatureValues apply_to_texts(const Transform& transform, const std::vector<std::string>& texts) {
  Column column;
  column.type = ValueType::kString;
  column.rows = static_cast<int64_t>(texts.size());
  for (const std::string& text : texts) column.strings.push_back(text);
  FeatureValues values;
  values.list.rows = column.rows;
  return apply(transform, column, {}, std::move(values));
}

}  // namespace millrace
