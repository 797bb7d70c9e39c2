// The dataset of several sources, mixed by proportion.
#ifndef MILLRACE_IO_MIX_MIXED_DATASET_H_
#define MILLRACE_IO_MIX_MIXED_DATASET_H_

#include <cstdint>
#include <memory>
#include <optional>
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

// Reads the sources of options.data.mix in parallel and makes batches with a share of each source
// (io/mix/mix_batcher.h). Each source has its own files, order, split and sample, and is dealt to
// ranks and read on reader_threads threads as by a BatchDataset. A source that repeats restarts
// with each epoch. Example ids that no feature gives count the files of all sources.
//
// A cursor has a part for each source; sources are positioned independently, so a change of world
// size redistributes each source. No example of a source that ends is repeated or lost; FIRST_ENDS
// omits the rest of the other sources.
//
// Memory: as a BatchDataset for each source, without its batches, and prefetch_batches + 1 batches.
class MixedDataset : public Dataset, public NamesFiles {
 public:
  ~MixedDataset() override;  // cancels and joins

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  // The files of all sources, in their order.
  absl::StatusOr<DataIdentity> identity() const override;
  void cancel() override;
  std::string files_being_read() const override;

  // Return the rows of the sources that do not repeat: of all ranks, and of this rank's share
  // before `cursor`, this rank's cursor.
  int64_t rows() const;
  int64_t rows_done(const Cursor& cursor) const;
  int64_t file_count() const;  // of all sources
  // Returns common_hashed_columns() of the sources.
  HashedColumns hashed_columns() const;

 private:
  friend absl::StatusOr<std::unique_ptr<MixedDataset>> open_mixed_dataset(
      const DatasetOptions& options);

  class Run;  // the threads of one epoch

  MixedDataset(const DatasetOptions& options, std::vector<std::unique_ptr<EpochSource>> sources);
  absl::Status check(absl::Span<const Cursor> cursors) const;
  // Returns where this rank continues in one source. A cursor without sources has nothing left.
  absl::StatusOr<SourcePosition> resume_source(size_t index,
                                               absl::Span<const Cursor> cursors) const;
  absl::Status start(int64_t epoch, MixPosition position);

  const DatasetOptions options_;
  const std::vector<std::unique_ptr<EpochSource>> sources_;
  const uint64_t fingerprint_;
  OpenRun<Run> run_;
};

// Opens every source, and omits empty sources that may be empty, which can leave none that ends:
// then rows() is 0, and there is no epoch to start. Errors: InvalidArgument without a mix or with
// one in which all sources repeat; errors of EpochSource::open, naming the source.
absl::StatusOr<std::unique_ptr<MixedDataset>> open_mixed_dataset(const DatasetOptions& options);

}  // namespace millrace

#endif  // MILLRACE_IO_MIX_MIXED_DATASET_H_
