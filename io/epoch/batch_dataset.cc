#include "io/epoch/batch_dataset.h"

#include <utility>

#include "base/status_macros.h"
#include "io/data_identity.h"
#include "io/epoch/batch_queue.h"
#include "io/epoch/epoch_reader.h"

namespace millrace {

class BatchDataset::Run {
 public:
  Run(const EpochSource& source, Cursor start)
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
  ASSIGN_OR_RETURN(Cursor cursor, source_->go_on(cursors));
  return start(std::move(cursor));
}

absl::Status BatchDataset::start(Cursor cursor) {
  return run_.start([&] { return std::make_unique<Run>(*source_, std::move(cursor)); });
}

absl::StatusOr<std::optional<Batch>> BatchDataset::next() { return run_.next(); }

absl::StatusOr<DataIdentity> BatchDataset::identity() const {
  const DatasetOptions& options = source_->options();
  return data_identity(*options.files, files(),
                       /*may_be_missing=*/options.data.bad_data() == DataConfig::SKIP);
}

void BatchDataset::cancel() { run_.cancel(); }

}  // namespace millrace
