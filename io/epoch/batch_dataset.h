// The dataset of files.
#ifndef MILLRACE_IO_EPOCH_BATCH_DATASET_H_
#define MILLRACE_IO_EPOCH_BATCH_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/cursor.h"
#include "io/dataset.h"
#include "io/epoch/dataset_options.h"
#include "io/epoch/epoch_source.h"
#include "io/epoch/open_run.h"
#include "io/hashed_columns.h"
#include "io/names_files.h"

namespace millrace {

// Reads files, transforms columns to features, shuffles and makes batches, on threads of its own:
// `reader_threads` read blocks, one gathers their rows into batches. The batches of an epoch are a
// function of the options that decide the result and the epoch alone, never of the threads.
//
// Memory: up to reader_threads + 2 blocks of max(shuffle_rows, kMaxUnitRows) rows each, and
// prefetch_batches + 1 batches.
class BatchDataset : public Dataset, public NamesFiles {
 public:
  ~BatchDataset() override;  // cancels and joins

  absl::Status start_epoch(int64_t epoch) override;
  // With as many cursors as there are ranks now, in the order of the ranks, each continues with
  // the batches that its own cursor leaves; with another number what all left is dealt out anew.
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  absl::StatusOr<DataIdentity> identity() const override;
  void cancel() override;
  std::string files_being_read() const override { return source_->blocks().files_being_read(); }

  // Of all ranks, and outside split and sample too.
  int64_t rows() const { return source_->rows(); }
  // Of this rank's share of an epoch, those before `cursor`, which is its own.
  int64_t rows_done(const Cursor& cursor) const {
    return count_rows(source_->begin(cursor.epoch).rows_left) - count_rows(cursor.rows_left());
  }
  const std::vector<std::string>& files() const { return source_->files(); }
  // See BlockSource.
  std::vector<std::string> missing_labels() const { return source_->blocks().missing_labels(); }
  const HashedColumns& hashed_columns() const { return source_->blocks().hashed_columns(); }

 private:
  friend absl::StatusOr<std::unique_ptr<BatchDataset>> open_dataset(const DatasetOptions& options);

  class Run;  // the threads of one epoch

  explicit BatchDataset(std::unique_ptr<EpochSource> source);
  absl::Status start(PassPosition position);

  const std::unique_ptr<EpochSource> source_;
  OpenRun<Run> run_;
};

// Opens a dataset: finds its files, looks at each of them and checks it against the features.
// Errors: everything that can be known before reading data: NotFound, InvalidArgument, DataLoss.
absl::StatusOr<std::unique_ptr<BatchDataset>> open_dataset(const DatasetOptions& options);

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BATCH_DATASET_H_
