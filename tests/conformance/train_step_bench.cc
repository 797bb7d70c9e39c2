#include "tests/conformance/train_step_bench.h"

#include "tests/fakes/fake_dataset.h"

namespace millrace::train_step_testing {

std::vector<Batch> batches(int64_t count, int64_t size, int64_t nan_at) {
  FakeDataset data({.batches = count, .batch_size = size, .sparse = 2, .nan_at = nan_at});
  std::vector<Batch> batches;
  EXPECT_OK(data.start_epoch(0));
  for (int64_t i = 0; i < count; ++i) batches.push_back(**data.next());
  return batches;
}

GradientClipping clipping_by_norm(double max_norm) {
  ClippingConfig config;
  config.set_max_norm(max_norm);
  return *GradientClipping::create(config);
}

}  // namespace millrace::train_step_testing
