#include "io/epoch/epoch_reader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {

EpochReader::EpochReader(const EpochSource& source, PassPosition start)
    : plan_(source.blocks().units(), source.options().data.shuffle_rows(), source.options().seed,
            start.epoch),
      tasks_(make_tasks(plan_, start.rows_left)),
      most_bad_rows_(static_cast<int64_t>(source.options().data.max_bad_fraction() *
                                          static_cast<double>(plan_.rows()) /
                                          static_cast<double>(source.options().world_size))),
      bad_rows_(start.bad_rows),
      blocks_(static_cast<int64_t>(tasks_.size()), source.options().reader_threads,
              [this, &source] { return make_reader(source.blocks()); }),
      batcher_(source.options().data.batch_size(), source.options().data.drop_remainder(),
               std::move(start), [this] { return next_block(); }) {}

std::vector<EpochReader::Task> EpochReader::make_tasks(const EpochPlan& plan,
                                                       const std::vector<RowInterval>& intervals) {
  std::vector<Task> tasks;
  for (const RowInterval& interval : intervals) {
    for (int64_t begin = interval.begin; begin < interval.end;) {
      const int64_t index = plan.block_at(begin);
      const EpochPlan::Block& block = plan.blocks()[index];
      const int64_t end = std::min(interval.end, block.first_position + block.rows);
      tasks.push_back({index, {begin, end}});
      begin = end;
    }
  }
  return tasks;
}

BlockQueue::Reader EpochReader::make_reader(const BlockSource& source) {
  // Shared because std::function copies what it holds; there is one copy.
  auto reader = std::make_shared<BlockReader>(source);
  return [this, reader](int64_t task, const std::atomic<bool>& cancelled) {
    return reader->read(plan_, tasks_[task].block, tasks_[task].range, cancelled);
  };
}

// The next block, unless too much so far is bad data.
absl::StatusOr<std::optional<Block>> EpochReader::next_block() {
  ASSIGN_OR_RETURN(std::optional<Block> block, blocks_.next());
  if (!block.has_value() || block->bad_positions.empty()) return block;
  const int64_t before = bad_rows_;
  bad_rows_ += static_cast<int64_t>(block->bad_positions.size());
  if (bad_rows_ > most_bad_rows_) {
    return absl::DataLossError(absl::StrCat(bad_rows_, " examples are bad data, more than ",
                                            most_bad_rows_,
                                            " (max_bad_fraction); one of them: ", block->bad_row));
  }
  // Not all of them: there may be many.
  if (std::bit_width(static_cast<uint64_t>(before)) !=
      std::bit_width(static_cast<uint64_t>(bad_rows_))) {
    MILLRACE_LOG(WARNING) << bad_rows_
                          << " examples of this epoch are bad data and left out; one of "
                          << "them: " << block->bad_row;
  }
  return block;
}

}  // namespace millrace
