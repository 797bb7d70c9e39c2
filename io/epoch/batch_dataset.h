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

// Reads files, transforms columns to features, shuffles and makes batches, on its own threads:
// `reader_threads` threads read blocks, and one thread gathers their rows into batches. The batches
// of an epoch are a function of the options that decide the result and the epoch alone, never of
// the threads.
//
// Memory: up to reader_threads + 2 blocks of max(shuffle_rows, kMaxUnitRows) rows each, and
// prefetch_batches + 1 batches.
class BatchDataset : public Dataset, public NamesFiles {
 public:
  ~BatchDataset() override;  // cancels and joins

  absl::Status start_epoch(int64_t epoch) override;
  // If `cursors` holds one cursor per current rank, in the order of the ranks, each rank resumes
  // with the batches after its own cursor. With any other number of cursors, the rows left by all
  // cursors are redistributed.
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  absl::StatusOr<DataIdentity> identity() const override;
  void cancel() override;
  std::string files_being_read() const override { return source_->blocks().files_being_read(); }

  // Returns the rows of all ranks, including rows outside split and sample.
  int64_t rows() const { return source_->rows(); }
  // Returns the rows of this rank's share of an epoch before `cursor`, this rank's cursor.
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

// Opens a dataset: finds its files, and opens and checks each file against the features. Errors:
// every error that can be found before reading data: NotFound, InvalidArgument, DataLoss.
absl::StatusOr<std::unique_ptr<BatchDataset>> open_dataset(const DatasetOptions& options);

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_BATCH_DATASET_H_
