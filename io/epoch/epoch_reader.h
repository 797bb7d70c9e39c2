// The rows of a rank in an epoch of a source.
#ifndef MILLRACE_IO_EPOCH_EPOCH_READER_H_
#define MILLRACE_IO_EPOCH_EPOCH_READER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "io/epoch/batcher.h"
#include "io/epoch/block_queue.h"
#include "io/epoch/epoch_plan.h"
#include "io/epoch/epoch_source.h"

namespace millrace {

// Reads the rest of an epoch after a position, on options().reader_threads own threads, and gives
// it out through a Batcher. Used by one thread, except cancel().
class EpochReader {
 public:
  // Starts reading. `source` must outlive the reader.
  EpochReader(const EpochSource& source, PassPosition start);

  // Errors: as reading files; DataLoss for more bad examples than max_bad_fraction.
  Batcher& batcher() { return batcher_; }
  const Batcher& batcher() const { return batcher_; }

  // Makes a call of the batcher, also one that waits, return Cancelled. From any thread.
  void cancel() { blocks_.cancel(); }

 private:
  // A block, and the positions in the block read by this rank.
  struct Task {
    int64_t block = 0;
    RowInterval range;
  };

  static std::vector<Task> make_tasks(const EpochPlan& plan,
                                      const std::vector<RowInterval>& intervals);
  BlockQueue::Reader make_reader(const BlockSource& source);
  absl::StatusOr<std::optional<Block>> next_block();

  const EpochPlan plan_;
  const std::vector<Task> tasks_;
  const int64_t most_bad_rows_;
  int64_t bad_rows_;  // of the epoch so far
  BlockQueue blocks_;
  Batcher batcher_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_EPOCH_READER_H_
