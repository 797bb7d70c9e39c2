#include "framework/report/example_columns.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

// Returns two sparse features of two examples: {4, 5} {} of the first, {6} {7, 8} of the second.
Batch batch() {
  Batch batch;
  batch.size = 2;
  batch.sparse.values = at::tensor({4, 5, 6, 7, 8}, at::kLong);
  batch.sparse.offsets = at::tensor({0, 2, 2, 3, 5}, at::kLong);
  return batch;
}

bool is(const at::Tensor& tensor, const std::vector<int64_t>& values) {
  return at::equal(tensor.to(at::kLong), at::tensor(values, at::kLong));
}

TEST(ExampleColumnsTest, FirstIds) {
  const FirstIds first = first_ids(batch(), 0);
  EXPECT_TRUE(is(first.ids, {4, 0}));
  EXPECT_TRUE(is(first.present, {1, 0}));
  EXPECT_TRUE(is(first_ids(batch(), 1).ids, {6, 7}));
}

TEST(ExampleColumnsTest, ExamplesAtTheEndWithoutIds) {
  Batch batch;
  batch.size = 2;
  batch.sparse.values = at::tensor({4}, at::kLong);
  batch.sparse.offsets = at::tensor({0, 1, 1}, at::kLong);
  EXPECT_TRUE(is(first_ids(batch, 0).present, {1, 0}));
  batch.sparse.values = at::empty({0}, at::kLong);
  batch.sparse.offsets = at::zeros({3}, at::kLong);
  EXPECT_TRUE(is(first_ids(batch, 0).present, {0, 0}));
}

// Tensors of the meta device have no values, so reading one would fail.
TEST(ExampleColumnsTest, NothingIsRead) {
  Batch on_device = batch();
  on_device.sparse.values = on_device.sparse.values.to(at::kMeta);
  on_device.sparse.offsets = on_device.sparse.offsets.to(at::kMeta);
  StepResult step;
  add_example_columns(std::vector<Batch>{on_device, on_device},
                      std::vector<SliceOptions>{{.name = "b", .feature = 1}}, step);
  ASSERT_EQ(step.slices.size(), 1);
  EXPECT_EQ(step.slices[0].ids.sizes(), at::IntArrayRef({4}));
  EXPECT_EQ(step.slices[0].ids.device(), at::kMeta);
  EXPECT_EQ(step.slices[0].present.sizes(), at::IntArrayRef({4}));
}

TEST(ExampleColumnsTest, BatchesAreJoined) {
  Batch with_groups = batch();
  with_groups.group_ids = at::tensor({1, 2}, at::kLong);
  Batch empty = batch();
  empty.size = 0;
  StepResult step;
  add_example_columns(std::vector<Batch>{with_groups, empty, with_groups},
                      std::vector<SliceOptions>{{.name = "b", .feature = 1}}, step);
  EXPECT_TRUE(is(step.groups, {1, 2, 1, 2}));
  ASSERT_EQ(step.slices.size(), 1);
  EXPECT_TRUE(is(step.slices[0].ids, {6, 7, 6, 7}));
}

TEST(ExampleColumnsTest, EmptyBatchesHaveNoExamples) {
  Batch empty = batch();
  empty.size = 0;
  StepResult step;
  add_example_columns({&empty, 1}, std::vector<SliceOptions>{{.name = "b"}}, step);
  EXPECT_FALSE(step.groups.defined());
  ASSERT_EQ(step.slices.size(), 1);
  EXPECT_EQ(step.slices[0].present.numel(), 0);
}

}  // namespace
}  // namespace millrace
