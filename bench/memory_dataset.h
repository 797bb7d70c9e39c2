// Training data in memory.
#ifndef MILLRACE_BENCH_MEMORY_DATASET_H_
#define MILLRACE_BENCH_MEMORY_DATASET_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "io/batch.h"
#include "io/dataset.h"

namespace millrace {

// Returns the same batches in turn, without reading. Has no positions: seek() returns
// Unimplemented.
class MemoryDataset : public Dataset {
 public:
  // `epoch_batches`: batches of an epoch; 0: an epoch has no end. REQUIRES: `batches` is not empty.
  explicit MemoryDataset(std::vector<Batch> batches, int64_t epoch_batches = 0);

  // Begins with the first batch.
  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  // Does nothing: next() never waits.
  void cancel() override {}

 private:
  const std::vector<Batch> batches_;
  const int64_t epoch_batches_;
  int64_t given_ = 0;  // in this epoch
};

// Reads up to `count` batches of `batch_size` examples from the begin of epoch 0. Omits smaller
// batches, such as the last batch of an epoch. Errors: InvalidArgument naming the number of
// examples if there is no full batch; as `data`.
absl::StatusOr<std::vector<Batch>> read_full_batches(Dataset& data, int64_t count,
                                                     int64_t batch_size);

}  // namespace millrace

#endif  // MILLRACE_BENCH_MEMORY_DATASET_H_
