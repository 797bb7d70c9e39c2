#include "framework/ranks/padding.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace {
namespace {

TEST(Padding, HasTheShapesOfARealBatch) {
  FakeDataset data({.batch_size = 3, .dense = 4, .sparse = 2});
  ASSERT_OK(data.start_epoch(0));
  Batch like = **data.next();
  like.weights = at::ones({3});
  const Batch padding = padding_batch(&like, 1, Cursor{7, {}, 9});
  EXPECT_EQ(padding.size, 0);
  EXPECT_EQ(padding.dense.sizes(), at::IntArrayRef({0, 4}));
  EXPECT_EQ(padding.labels.sizes(), at::IntArrayRef({0, 1}));
  EXPECT_EQ(padding.weights.sizes(), at::IntArrayRef({0}));
  EXPECT_EQ(padding.sparse.values.numel(), 0);
  EXPECT_EQ(padding.sparse.offsets.numel(), 2 * 0 + 1);
  EXPECT_EQ(padding.sparse.offsets[0].item<int64_t>(), 0);
  EXPECT_FALSE(padding.group_ids.defined());
  EXPECT_EQ(padding.cursor, (Cursor{7, {}, 9}));
}

TEST(Padding, WithoutAnyBatchThereAreLabelsAtLeast) {
  const Batch padding = padding_batch(nullptr, 3, {});
  EXPECT_EQ(padding.size, 0);
  EXPECT_EQ(padding.labels.sizes(), at::IntArrayRef({0, 3}));
  EXPECT_EQ(padding.sparse.offsets.numel(), 1);
  EXPECT_TRUE(padding.dense.defined());
  EXPECT_TRUE(padding.example_ids.defined());
}

}  // namespace
}  // namespace millrace
