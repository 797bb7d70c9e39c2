#include "io/epoch/batcher.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<std::optional<Batch>> Batcher::next() {
  ASSIGN_OR_RETURN(const int64_t count, available(batch_size_));
  if (count == 0 || (count < batch_size_ && drop_remainder_)) return std::nullopt;
  Batch batch = build_batch(take(count));
  batch.cursor = {
      .epoch = position_.epoch, .left = position_.rows_left, .fingerprint = position_.fingerprint};
  batch.bad_examples = release();
  batch.cursor.bad_rows = position_.bad_rows;
  return batch;
}

absl::StatusOr<int64_t> Batcher::available(int64_t count) {
  RETURN_IF_ERROR(pending_);
  RETURN_IF_ERROR(fill(count));
  return std::min(rows_waiting_, count);
}

int64_t Batcher::release() {
  if (std::exchange(has_taken_, false)) {
    drop_used_blocks();
    // Is it the last one? An error has its turn with the next batch.
    if (rows_waiting_ == 0 && !bad_positions_.empty()) pending_ = fill(1);
  }
  // Bad rows behind the last row that was taken are still left at this position.
  position_.bad_rows +=
      std::upper_bound(bad_positions_.begin(), bad_positions_.end(), last_taken_) -
      bad_positions_.begin();
  return count_bad(last_taken_);
}

absl::Status Batcher::fill(int64_t wanted) {
  while (!ended_ && rows_waiting_ < wanted) {
    ASSIGN_OR_RETURN(std::optional<Block> block, next_block_());
    ended_ = !block.has_value();
    if (!ended_) {
      bad_positions_.insert(bad_positions_.end(), block->bad_positions.begin(),
                            block->bad_positions.end());
    }
    if (ended_ || block->order.empty()) continue;
    rows_waiting_ += static_cast<int64_t>(block->order.size());
    blocks_.push_back(std::make_unique<Block>(*std::move(block)));
  }
  return absl::OkStatus();
}

std::vector<BatchPiece> Batcher::take(int64_t count) {
  std::vector<BatchPiece> pieces;
  count = std::min(count, rows_waiting_);
  rows_waiting_ -= count;
  int64_t used = rows_used_;
  for (const auto& block : blocks_) {
    const auto rows = absl::MakeConstSpan(block->order).subspan(used, count);
    if (!rows.empty()) pieces.push_back({block.get(), rows});
    count -= static_cast<int64_t>(rows.size());
    if (count == 0) break;
    used = 0;
  }
  if (!pieces.empty()) {
    has_taken_ = true;
    last_taken_ = pieces.back().rows.back().position;
    move_after(last_taken_);
  }
  return pieces;
}

void Batcher::move_after(int64_t position) {
  std::vector<RowInterval>& left = position_.rows_left;
  const auto open = std::find_if(left.begin(), left.end(), [position](const RowInterval& interval) {
    return interval.end > position + 1;
  });
  left.erase(left.begin(), open);
  if (!left.empty()) left.front().begin = std::max(left.front().begin, position + 1);
}

// Bad rows up to there, or if there are no more rows, all.
int64_t Batcher::count_bad(int64_t last_position) {
  const auto end =
      ended_ && rows_waiting_ == 0
          ? bad_positions_.end()
          : std::upper_bound(bad_positions_.begin(), bad_positions_.end(), last_position);
  const int64_t count = end - bad_positions_.begin();
  bad_positions_.erase(bad_positions_.begin(), end);
  return count;
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
