#include "checkpoint/inspect/checkpoint_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointContentTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = {
        .step = 1, .rows = test_rows(50, 2, 1), .dense = {{"a.weight", {0.5f, -1}}, {"b", {3}}}};
    next_ = base_;
    next_.step = 2;
    next_.dense["b"] = {4};
    next_.rows.erase(7);
    next_.rows[8].weights = {100, 200};
    ASSERT_OK(write_rows_checkpoint(files_, "c", base_));
    ASSERT_OK(write_rows_checkpoint(files_, "c", next_, &base_));
    ASSERT_OK_AND_ASSIGN(content_, CheckpointContent::open(files_, "c/step-00000002"));
  }
  template <typename Number>
  std::vector<Number> read(const std::string& name) {
    const absl::StatusOr<std::string> bytes = content_->read(name);
    EXPECT_OK(bytes);
    std::vector<Number> values(bytes.value_or("").size() / sizeof(Number));
    if (bytes.ok()) std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }

  MemoryFileSystem files_;
  RowsCheckpoint base_, next_;
  std::unique_ptr<CheckpointContent> content_;
};

TEST_F(CheckpointContentTest, NamesTypesAndShapes) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : content_->tensors()) {
    names.push_back(tensor.name);
    ASSERT_OK_AND_ASSIGN(const std::string bytes, content_->read(tensor.name));
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), *tensor_bytes(tensor.type, tensor.shape))
        << tensor.name;
  }
  EXPECT_THAT(
      names, ElementsAre("a.weight", "b", "table/items/ids", "table/items/weights",
                         "table/items/slot/sum", "table/items/frequency", "table/items/last_step"));
  EXPECT_EQ(content_->dense_tensors().size(), 2);
  ASSERT_OK_AND_ASSIGN(const TensorInfo weights, content_->find("table/items/weights"));
  EXPECT_THAT(weights.shape, ElementsAre(49, 2));
  EXPECT_EQ(weights.type, TensorType::kF32);
  EXPECT_EQ(content_->chain().size(), 2);
  EXPECT_EQ(content_->manifest().progress().step(), 2);
  EXPECT_EQ(content_->directory(), "c/step-00000002");
}

TEST_F(CheckpointContentTest, DenseTensorsAreThoseOfTheDelta) {
  EXPECT_THAT(read<float>("b"), ElementsAre(4));
  EXPECT_THAT(read<float>("a.weight"), ElementsAre(0.5f, -1));
}

TEST_F(CheckpointContentTest, TablesAreWhole) {
  const auto ids = read<int64_t>("table/items/ids");
  const auto weights = read<float>("table/items/weights");
  ASSERT_EQ(ids.size(), next_.rows.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(next_.rows.count(ids[i]), 1);
    EXPECT_EQ(next_.rows[ids[i]].weights, (std::vector<float>{weights[2 * i], weights[2 * i + 1]}));
    EXPECT_TRUE(i == 0 || placement_hash(ids[i - 1]) < placement_hash(ids[i]));
  }
  ASSERT_OK_AND_ASSIGN(const RowBlock rows, content_->read_rows("items", {"frequency"}, {7, 8}));
  EXPECT_THAT(rows.ids, ElementsAre(8));
  ASSERT_OK_AND_ASSIGN(const auto scan, content_->scan("items", {"frequency"}));
  RowBlock block;
  ASSERT_OK(scan->next(&block));
  EXPECT_EQ(block.ids, ids);
}

TEST_F(CheckpointContentTest, BooleansAndOtherTypes) {
  ASSERT_OK(write_small_checkpoint(files_, "small", {.step = 1}));
  ASSERT_OK_AND_ASSIGN(content_, CheckpointContent::open(files_, "small/step-00000001"));
  ASSERT_OK_AND_ASSIGN(const TensorInfo on, content_->find("on"));
  EXPECT_EQ(on.type, TensorType::kBool);
  EXPECT_EQ(read<uint8_t>("on").size(), 3);
  EXPECT_EQ(read<float>("optimizer/fc.weight/exp_avg").size(), 6);
}

TEST_F(CheckpointContentTest, WhatIsNotThere) {
  EXPECT_THAT(content_->read("a.weigth").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"a.weight\"")));
  EXPECT_THAT(content_->read("table/items").status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(content_->read("table/users/ids").status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(CheckpointContent::open(files_, "c/step-00000009").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("step-00000009")));
}

TEST_F(CheckpointContentTest, DamagedTensor) {
  const std::string name = "c/step-00000002/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, name));
  bytes.back() ^= 1;
  files_.put(name, bytes);
  EXPECT_THAT(content_->read("b").status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(name + " is damaged")));
  EXPECT_OK(content_->read("table/items/weights")) << "which is in other files";
}

}  // namespace
}  // namespace millrace
