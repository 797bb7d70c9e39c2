#include "io/block.h"

#include <algorithm>
#include <utility>

#include "io/column_rows.h"

namespace millrace {
namespace {

template <typename T>
void gather(const std::vector<int32_t>& rows, std::vector<T>* column) {
  if (column->empty()) return;  // the schema has none
  std::vector<T> gathered(rows.size());
  const T* const values = column->data();
  for (size_t i = 0; i < rows.size(); ++i) gathered[i] = values[rows[i]];
  *column = std::move(gathered);
}

// The lists of `rows`; `from` gives the begin of each list and `to` the target; none has more than
// `longest` values.
template <typename T>
std::vector<T> gather_lists(const std::vector<int32_t>& rows, const std::vector<int64_t>& from,
                            const std::vector<int64_t>& to, int64_t longest,
                            const std::vector<T>& values) {
  std::vector<T> gathered;
  if (values.empty() || to.back() == 0) return gathered;
  gathered.resize(to.back() + 1);
  if (longest == 1) {
    // No branch on whether there is a value: an empty list writes one too, and the next list
    // writes over it.
    const int64_t last = static_cast<int64_t>(values.size()) - 1;
    for (size_t i = 0; i < rows.size(); ++i) {
      gathered[to[i]] = values[std::min(from[rows[i]], last)];
    }
  } else {
    for (size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values.begin() + from[rows[i]], to[i + 1] - to[i], gathered.begin() + to[i]);
    }
  }
  gathered.pop_back();
  return gathered;
}

void gather(const std::vector<int32_t>& rows, IdColumn* column) {
  column->rows = static_cast<int64_t>(rows.size());
  if (column->offsets.empty()) {
    gather(rows, &column->values);
    gather(rows, &column->weights);
    return;
  }
  std::vector<int64_t> offsets(rows.size() + 1);
  int64_t total = 0, longest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t count = column->offsets[rows[i] + 1] - column->offsets[rows[i]];
    longest = std::max(longest, count);
    total += count;
    offsets[i + 1] = total;
  }
  column->values = gather_lists(rows, column->offsets, offsets, longest, column->values);
  column->weights = gather_lists(rows, column->offsets, offsets, longest, column->weights);
  column->offsets = std::move(offsets);
}

}  // namespace

void put_in_order(Block* block) {
  std::vector<int32_t> rows(block->order.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = std::exchange(block->order[i].row, static_cast<int32_t>(i));
  }
  for (IdColumn& column : block->sparse) gather(rows, &column);
  for (std::vector<float>& column : block->dense) gather(rows, &column);
  for (std::vector<float>& column : block->labels) gather(rows, &column);
  gather(rows, &block->weights);
  gather(rows, &block->example_ids);
  gather(rows, &block->group_ids);
  for (Column& column : block->kept) column = gather_rows(column, rows);
}

bool is_in_order(absl::Span<const BlockRow> rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].row != rows[0].row + static_cast<int32_t>(i)) return false;
  }
  return true;
}

}  // namespace millrace
