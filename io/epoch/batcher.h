// Batches of rows of blocks.
#ifndef MILLRACE_IO_EPOCH_BATCHER_H_
#define MILLRACE_IO_EPOCH_BATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/batch.h"
#include "io/block.h"
#include "io/cursor.h"
#include "io/feature/batch_builder.h"

namespace millrace {

// Makes batches of a size from blocks in the order they come, across their borders, each with
// the cursor after it. Used by one thread.
class Batcher {
 public:
  // The next block, or none at the end.
  using NextBlock = std::function<absl::StatusOr<std::optional<Block>>()>;

  // `start`: the position before the first block. REQUIRES: batch_size >= 1; the positions of the
  // blocks' rows ascend within start.rows_left.
  Batcher(int64_t batch_size, bool drop_remainder, PassPosition start, NextBlock next_block)
      : batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        position_(std::move(start)),
        next_block_(std::move(next_block)) {}

  // The next batch; none at the end, where what does not fill a batch may be dropped.
  // Errors: as the blocks.
  absl::StatusOr<std::optional<Batch>> next();

  // The same in steps, for batches that hold rows of other blocks too, of any size:

  // Reads until `count` rows are ready, or none are left. Returns: the number ready, at most
  // `count`.
  // Errors: as the blocks.
  absl::StatusOr<int64_t> available(int64_t count);
  // The next `count` rows, or as many as are ready; good until release(), before which there is no
  // other call of it.
  std::vector<BatchPiece> take(int64_t count);
  // Returns the position behind the rows that were taken.
  const PassPosition& position() const { return position_; }
  // Ends the use of what was taken. Returns: the bad examples that count with it, as
  // Batch::bad_examples.
  int64_t release();
  // Returns true if all rows are known and taken.
  bool at_end() const { return ended_ && rows_waiting_ == 0; }

 private:
  // Reads blocks until `count` rows wait or there are none left.
  absl::Status fill(int64_t count);
  void move_after(int64_t position);
  void drop_used_blocks();
  int64_t count_bad(int64_t last_position);

  const int64_t batch_size_;
  const bool drop_remainder_;
  PassPosition position_;
  NextBlock next_block_;
  std::deque<std::unique_ptr<Block>> blocks_;
  int64_t rows_used_ = 0;     // of the first block
  int64_t rows_waiting_ = 0;  // in all of them
  int64_t last_taken_ = -1;   // the position of the last row taken; -1: none
  bool has_taken_ = false;    // since release()
  bool ended_ = false;
  absl::Status pending_;               // an error that came too early
  std::deque<int64_t> bad_positions_;  // of the blocks so far, behind the last batch
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BATCHER_H_
