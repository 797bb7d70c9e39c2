#include "io/epoch/batch_dataset.h"

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "io/data_identity.h"
#include "io/epoch/batch_queue.h"
#include "io/epoch/epoch_reader.h"

namespace millrace {

class BatchDataset::Run {
 public:
  Run(const EpochSource& source, PassPosition start)
      : reader_(source, std::move(start)),
        batches_(source.options().prefetch_batches, [this] { return reader_.batcher().next(); }) {}

  // The thread of batches_ may wait for a block and ends first.
  ~Run() { reader_.cancel(); }

  absl::StatusOr<std::optional<Batch>> next() { return batches_.next(); }
  void cancel() {
    reader_.cancel();
    batches_.cancel();
  }

 private:
  EpochReader reader_;
  BatchQueue batches_;
};

absl::StatusOr<std::unique_ptr<BatchDataset>> open_dataset(const DatasetOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<EpochSource> source, EpochSource::open(options));
  return std::unique_ptr<BatchDataset>(new BatchDataset(std::move(source)));
}

BatchDataset::BatchDataset(std::unique_ptr<EpochSource> source) : source_(std::move(source)) {}

BatchDataset::~BatchDataset() = default;

absl::Status BatchDataset::start_epoch(int64_t epoch) { return start(source_->begin(epoch)); }

absl::Status BatchDataset::seek(absl::Span<const Cursor> cursors) {
  std::vector<PassPosition> ranks;
  for (const Cursor& cursor : cursors) {
    if (cursor.mix() != nullptr) {
      return absl::InvalidArgumentError("the cursors are of mixed data; this data has one source");
    }
    ranks.push_back({cursor.epoch, cursor.rows_left(), cursor.fingerprint, cursor.bad_rows});
  }
  ASSIGN_OR_RETURN(PassPosition own, source_->resume(ranks));
  return start(std::move(own));
}

absl::Status BatchDataset::start(PassPosition position) {
  return run_.start([&] { return std::make_unique<Run>(*source_, std::move(position)); });
}

absl::StatusOr<std::optional<Batch>> BatchDataset::next() { return run_.next(); }

absl::StatusOr<DataIdentity> BatchDataset::identity() const {
  const DatasetOptions& options = source_->options();
  ASSIGN_OR_RETURN(DataIdentity identity,
                   data_identity(*options.files, files(),
                                 /*may_be_missing=*/options.data.bad_data() == DataConfig::SKIP));
  *identity.mutable_column() = hashed_columns();
  return identity;
}

void BatchDataset::cancel() { run_.cancel(); }

}  // namespace millrace
