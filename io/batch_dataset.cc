#include "io/batch_dataset.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/batch_queue.h"
#include "io/batcher.h"
#include "io/block_queue.h"
#include "io/data_identity.h"

namespace millrace {
namespace {

// A block, and the positions of it that this rank reads.
struct BlockTask {
  int64_t block = 0;
  RowInterval range;
};

std::vector<BlockTask> make_tasks(const EpochPlan& plan, absl::Span<const RowInterval> intervals) {
  std::vector<BlockTask> tasks;
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

absl::Status check_options(const DatasetOptions& options) {
  auto at_least_one = [](int64_t value, absl::string_view name) -> absl::Status {
    if (value >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", value, "; it must be at least 1"));
  };
  RETURN_IF_ERROR(at_least_one(options.data.batch_size(), "batch_size"));
  RETURN_IF_ERROR(at_least_one(options.reader_threads, "reader_threads"));
  RETURN_IF_ERROR(at_least_one(options.prefetch_batches, "prefetch_batches"));
  RETURN_IF_ERROR(at_least_one(options.world_size, "world_size"));
  if (options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", options.rank, " of ", options.world_size, " ranks"));
  }
  const int64_t shuffle_rows = options.data.shuffle_rows();
  if (shuffle_rows < 0 || shuffle_rows > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shuffle_rows is ", shuffle_rows, "; it must be from 0 to 2^31 - 1"));
  }
  return absl::OkStatus();
}

// See Cursor::fingerprint.
uint64_t fingerprint(const DatasetOptions& options, const FileSet& files) {
  const bool shuffled = options.data.shuffle_rows() > 0;
  const SplitConfig& split = options.data.split();
  std::string text = absl::StrCat("2 ", kMaxUnitRows, " ", options.data.shuffle_rows(), " ",
                                  shuffled ? options.seed : 0, " ", split.by(), " ", split.column(),
                                  " ", split.from(), " ", split.to());
  if (options.rows.end > 0) {
    absl::StrAppend(&text, " rows ", options.rows.begin, " ", options.rows.end);
  }
  for (size_t i = 0; i < files.paths().size(); ++i) {
    absl::StrAppend(&text, ";", absl::CEscape(base_name(files.paths()[i])), ":");
    for (const int64_t rows : files.group_rows()[i]) absl::StrAppend(&text, rows, ",");
  }
  return std::max<uint64_t>(1, xxh3(text));
}

}  // namespace

class BatchDataset::Run {
 public:
  Run(const DatasetOptions& options, const BlockSource& source, Cursor cursor)
      : plan_(source.units(), options.data.shuffle_rows(), options.seed, cursor.epoch),
        tasks_(make_tasks(plan_, cursor.rows_left)),
        blocks_(static_cast<int64_t>(tasks_.size()), options.reader_threads,
                [this, &source] { return make_reader(source); }),
        most_bad_rows_(static_cast<int64_t>(options.data.max_bad_fraction() *
                                            static_cast<double>(plan_.rows()) /
                                            static_cast<double>(options.world_size))),
        batcher_(options.data.batch_size(), options.data.drop_remainder(), std::move(cursor),
                 [this] { return next_block(); }),
        batches_(options.prefetch_batches, [this] { return batcher_.next(); }) {}

  // The thread of batches_ may wait for a block and ends first.
  ~Run() { blocks_.cancel(); }

  absl::StatusOr<std::optional<Batch>> next() { return batches_.next(); }
  void cancel() {
    blocks_.cancel();
    batches_.cancel();
  }

 private:
  BlockQueue::Reader make_reader(const BlockSource& source) {
    // Shared because std::function copies what it holds; there is one copy.
    auto reader = std::make_shared<BlockReader>(source);
    return [this, reader](int64_t task, const std::atomic<bool>& cancelled) {
      return reader->read(plan_, tasks_[task].block, tasks_[task].range, cancelled);
    };
  }

  // The next block, unless too much so far is bad data. Called by the thread of batches_.
  absl::StatusOr<std::optional<Block>> next_block() {
    ASSIGN_OR_RETURN(std::optional<Block> block, blocks_.next());
    if (!block.has_value() || block->bad_positions.empty()) return block;
    const int64_t before = bad_rows_;
    bad_rows_ += static_cast<int64_t>(block->bad_positions.size());
    if (bad_rows_ > most_bad_rows_) {
      return absl::DataLossError(
          absl::StrCat(bad_rows_, " examples are bad data, more than ", most_bad_rows_,
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

  const EpochPlan plan_;
  const std::vector<BlockTask> tasks_;
  BlockQueue blocks_;
  const int64_t most_bad_rows_;
  int64_t bad_rows_ = 0;  // since this run began
  Batcher batcher_;
  BatchQueue batches_;
};

absl::StatusOr<std::unique_ptr<BatchDataset>> open_dataset(const DatasetOptions& options) {
  RETURN_IF_ERROR(check_options(options));
  ASSIGN_OR_RETURN(std::unique_ptr<BlockSource> source,
                   BlockSource::open(*options.files, options.data, options.schema,
                                     {options.binary_labels, options.labels_may_miss},
                                     {options.rows, options.may_be_empty}));
  return std::unique_ptr<BatchDataset>(new BatchDataset(options, std::move(source)));
}

BatchDataset::BatchDataset(const DatasetOptions& options, std::unique_ptr<BlockSource> source)
    : options_(options),
      source_(std::move(source)),
      fingerprint_(fingerprint(options_, source_->files())) {}

BatchDataset::~BatchDataset() = default;

absl::Status BatchDataset::start_epoch(int64_t epoch) {
  const RowInterval all{0, rows()};
  return start(
      {.epoch = epoch, .rows_left = deal_rows({&all, 1}, options_.rank, options_.world_size)});
}

absl::Status BatchDataset::seek(absl::Span<const Cursor> cursors) {
  if (cursors.empty()) return absl::InvalidArgumentError("no cursors to continue from");
  for (const Cursor& cursor : cursors) RETURN_IF_ERROR(check(cursor, cursors.front().epoch));
  Cursor own;
  own.epoch = cursors.front().epoch;
  ASSIGN_OR_RETURN(own.rows_left, merge_rows_left(cursors, rows()));
  if (static_cast<int64_t>(cursors.size()) != options_.world_size) {
    own.rows_left = deal_rows(own.rows_left, options_.rank, options_.world_size);
  } else {
    ASSIGN_OR_RETURN(own.rows_left, merge_rows_left({&cursors[options_.rank], 1}, rows()));
  }
  return start(std::move(own));
}

absl::Status BatchDataset::check(const Cursor& cursor, int64_t epoch) const {
  if (cursor.epoch != epoch) {
    return absl::InvalidArgumentError(absl::StrCat("the cursors are of epochs ", epoch, " and ",
                                                   cursor.epoch, "; they must be of one"));
  }
  if (cursor.fingerprint != 0 && cursor.fingerprint != fingerprint_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the cursors are of other data, or of another order of it: files, "
                     "shuffle_rows, split or seed changed; the first file is now ",
                     files().front()));
  }
  return absl::OkStatus();
}

absl::Status BatchDataset::start(Cursor cursor) {
  std::unique_ptr<Run> old;
  {
    MutexLock lock(mutex_);
    old = std::move(run_);
  }
  old.reset();  // joins its threads before new ones start
  cursor.fingerprint = fingerprint_;
  auto run = std::make_unique<Run>(options_, *source_, std::move(cursor));
  MutexLock lock(mutex_);
  if (cancelled_) return absl::CancelledError("the dataset was cancelled");
  run_ = std::move(run);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Batch>> BatchDataset::next() {
  if (run_ != nullptr) return run_->next();
  MutexLock lock(mutex_);
  if (cancelled_) return absl::CancelledError("the dataset was cancelled");
  return absl::FailedPreconditionError("next() before start_epoch() or seek()");
}

absl::StatusOr<DataIdentity> BatchDataset::identity() const {
  return data_identity(*options_.files, files());
}

void BatchDataset::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (run_ != nullptr) run_->cancel();
}

}  // namespace millrace
