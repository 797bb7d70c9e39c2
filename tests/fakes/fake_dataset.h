// Data for tests of the loop: generated batches, with positions and faults.
#ifndef MILLRACE_TESTS_FAKES_FAKE_DATASET_H_
#define MILLRACE_TESTS_FAKES_FAKE_DATASET_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "io/dataset.h"

namespace millrace {

struct FakeDatasetOptions {
  int64_t batches = 4;  // per epoch
  int64_t batch_size = 8;
  int64_t last_batch = 0;  // examples in the last batch; 0: batch_size
  // This rank's share of each batch: rows [size * rank / world_size, size * (rank + 1) /
  // world_size).
  int64_t rank = 0;
  int64_t world_size = 1;
  int64_t dense = 2;   // dense features
  int64_t sparse = 0;  // sparse features, one id each, ids below `ids`
  int64_t ids = 50;
  int64_t fail_at = -1;  // the batch of an epoch whose next() fails
  int64_t nan_at = -1;   // the batch of an epoch whose dense values are not-a-number
  // If true, there is a second label, the opposite of the first, and some examples lack labels: of
  // every 16 examples, 4 lack the first and 13 the second.
  bool two_labels = false;
};

// Values depend on (epoch, batch, row); the label is 1 if the first dense value is positive.
class FakeDataset : public Dataset {
 public:
  explicit FakeDataset(FakeDatasetOptions options) : options_(options) {}

  absl::Status start_epoch(int64_t epoch) override;
  absl::Status seek(absl::Span<const Cursor> cursors) override;
  absl::StatusOr<std::optional<Batch>> next() override;
  void cancel() override { cancelled_ = true; }

 private:
  const FakeDatasetOptions options_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_FAKE_DATASET_H_
