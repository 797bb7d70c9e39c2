// Files whose rows are read epoch by epoch.
#ifndef MILLRACE_IO_EPOCH_EPOCH_SOURCE_H_
#define MILLRACE_IO_EPOCH_EPOCH_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/cursor.h"
#include "io/epoch/block_source.h"
#include "io/epoch/dataset_options.h"

namespace millrace {

// The files of a dataset, opened, and the positions at which a rank begins and resumes an epoch.
// Immutable; thread-safe.
class EpochSource {
 public:
  // Errors: everything that can be known before reading data: NotFound, InvalidArgument, DataLoss.
  static absl::StatusOr<std::unique_ptr<EpochSource>> open(const DatasetOptions& options);

  const DatasetOptions& options() const { return options_; }
  const BlockSource& blocks() const { return *blocks_; }
  const std::vector<std::string>& files() const { return blocks_->files().paths(); }
  int64_t rows() const { return blocks_->rows(); }  // of all ranks, outside split and sample too
  uint64_t fingerprint() const { return fingerprint_; }  // see PassPosition::fingerprint

  // This rank's share of an epoch.
  PassPosition begin(int64_t epoch) const;

  // Returns where this rank continues after `ranks`, the positions of all ranks: with as many as
  // there are now, behind its own; else with a share of the rows that all have left.
  // Errors: InvalidArgument if they do not fit this data.
  absl::StatusOr<PassPosition> resume(absl::Span<const PassPosition> ranks) const;

  // Checks that a position with `fingerprint` belongs to the data. Errors: InvalidArgument.
  absl::Status check_fingerprint(uint64_t fingerprint) const;

 private:
  EpochSource(const DatasetOptions& options, std::unique_ptr<BlockSource> blocks);

  const DatasetOptions options_;
  const std::unique_ptr<BlockSource> blocks_;
  const uint64_t fingerprint_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_EPOCH_SOURCE_H_
