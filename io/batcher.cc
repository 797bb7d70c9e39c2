#include "io/batcher.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::optional<Batch>> Batcher::next() {
  RETURN_IF_ERROR(fill());
  const int64_t count = std::min(rows_waiting_, batch_size_);
  if (count == 0 || (count < batch_size_ && drop_remainder_)) return std::nullopt;
  const std::vector<BatchPiece> pieces = take(count);
  Batch batch = build_batch(pieces);
  move_cursor_after(pieces.back().rows.back().position);
  batch.cursor = cursor_;
  drop_used_blocks();
  return batch;
}

absl::Status Batcher::fill() {
  while (!ended_ && rows_waiting_ < batch_size_) {
    ASSIGN_OR_RETURN(std::optional<Block> block, next_block_());
    ended_ = !block.has_value();
    if (ended_ || block->order.empty()) continue;
    rows_waiting_ += static_cast<int64_t>(block->order.size());
    blocks_.push_back(std::make_unique<Block>(*std::move(block)));
  }
  return absl::OkStatus();
}

std::vector<BatchPiece> Batcher::take(int64_t count) {
  std::vector<BatchPiece> pieces;
  rows_waiting_ -= count;
  int64_t used = rows_used_;
  for (const auto& block : blocks_) {
    const auto rows = absl::MakeConstSpan(block->order).subspan(used, count);
    if (!rows.empty()) pieces.push_back({block.get(), rows});
    count -= static_cast<int64_t>(rows.size());
    if (count == 0) break;
    used = 0;
  }
  return pieces;
}

void Batcher::move_cursor_after(int64_t position) {
  std::vector<RowInterval>& left = cursor_.rows_left;
  const auto open = std::find_if(left.begin(), left.end(), [position](const RowInterval& interval) {
    return interval.end > position + 1;
  });
  left.erase(left.begin(), open);
  if (!left.empty()) left.front().begin = std::max(left.front().begin, position + 1);
}

void Batcher::drop_used_blocks() {
  int64_t waiting = rows_waiting_;
  auto keep = blocks_.end();
  while (waiting > 0) {
    --keep;
    waiting -= static_cast<int64_t>((*keep)->order.size());
  }
  // What the first kept block has beyond what waits has been used.
  rows_used_ = -waiting;
  blocks_.erase(blocks_.begin(), keep);
}

}  // namespace millrace
