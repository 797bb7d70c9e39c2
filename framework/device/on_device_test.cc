#include "framework/device/on_device.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "framework/device/batch_upload.h"

namespace millrace {
namespace {

Batch batch_of_two() {
  Batch batch;
  batch.size = 2;
  batch.sparse.values = at::ones({3}, at::kLong);
  batch.sparse.offsets = at::zeros({3}, at::kLong);
  batch.dense = at::ones({2, 4});
  batch.labels = at::zeros({2, 1});
  batch.example_ids = at::zeros({2}, at::kLong);
  batch.group_ids = at::zeros({2}, at::kLong);
  return batch;
}

TEST(OnDeviceTest, OnTheCpuItIsTheBatchItself) {
  const Batch batch = batch_of_two();
  const Batch same = on_device(batch, at::kCPU);
  EXPECT_TRUE(same.dense.is_same(batch.dense));
  EXPECT_TRUE(same.labels.is_same(batch.labels));
  EXPECT_FALSE(same.weights.defined());
}

// Uses LibTorch's meta device, which every machine has.
TEST(OnDeviceTest, MovesWhatModelsComputeWith) {
  Batch batch = batch_of_two();
  batch.weights = at::ones({2});
  const Batch moved = on_device(batch, at::kMeta);
  EXPECT_TRUE(moved.dense.is_meta());
  EXPECT_TRUE(moved.labels.is_meta());
  EXPECT_TRUE(moved.weights.is_meta());
  EXPECT_EQ(moved.dense.sizes(), batch.dense.sizes());
  EXPECT_EQ(moved.size, 2);
}

TEST(OnDeviceTest, LeavesIdsOnTheCpu) {
  const Batch batch = batch_of_two();
  const Batch moved = on_device(batch, at::kMeta);
  EXPECT_TRUE(moved.sparse.values.is_same(batch.sparse.values));
  EXPECT_TRUE(moved.sparse.offsets.is_same(batch.sparse.offsets));
  EXPECT_TRUE(moved.example_ids.is_same(batch.example_ids));
  EXPECT_TRUE(moved.group_ids.is_same(batch.group_ids));
}

TEST(BatchUploadTest, OfNoBatchIsEmpty) { EXPECT_TRUE(BatchUpload().batches().empty()); }

}  // namespace
}  // namespace millrace
