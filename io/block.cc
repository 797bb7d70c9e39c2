#include "io/block.h"

#include <utility>

namespace millrace {
namespace {

template <typename T>
void gather(const std::vector<BlockRow>& order, std::vector<T>* column) {
  if (column->empty()) return;  // the schema has none
  std::vector<T> kept;
  kept.reserve(order.size());
  for (const BlockRow& row : order) kept.push_back((*column)[row.row]);
  *column = std::move(kept);
}

void gather(const std::vector<BlockRow>& order, IdColumn* column) {
  IdColumn kept;
  kept.rows = static_cast<int64_t>(order.size());
  if (!column->offsets.empty()) kept.offsets.push_back(0);
  for (const BlockRow& row : order) {
    for (int64_t i = column->begin(row.row); i < column->end(row.row); ++i) {
      kept.values.push_back(column->values[i]);
      if (!column->weights.empty()) kept.weights.push_back(column->weights[i]);
    }
    if (!column->offsets.empty()) kept.offsets.push_back(kept.values.size());
  }
  *column = std::move(kept);
}

}  // namespace

void drop_unused_rows(Block* block) {
  for (IdColumn& column : block->sparse) gather(block->order, &column);
  for (std::vector<float>& column : block->dense) gather(block->order, &column);
  for (std::vector<float>& column : block->labels) gather(block->order, &column);
  gather(block->order, &block->weights);
  gather(block->order, &block->example_ids);
  gather(block->order, &block->group_ids);
  for (size_t i = 0; i < block->order.size(); ++i) block->order[i].row = static_cast<int32_t>(i);
}

}  // namespace millrace
