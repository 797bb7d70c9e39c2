#include "checkpoint/inspect/checkpoint_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TableLookupTest : public testing::Test {
 protected:
  void write(const RowsCheckpoint& content, const RowsCheckpoint* base = nullptr) {
    ASSERT_OK(write_rows_checkpoint(files_, "c", content, base));
  }
  std::vector<std::unique_ptr<CheckpointReader>> open(int64_t step) {
    auto chain = open_chain(files_, join_path("c", checkpoint_name(step)));
    EXPECT_OK(chain);
    return *std::move(chain);
  }
  // Returns weights of rows, in the order of the lookup.
  static std::vector<float> floats(const std::string& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  void flip(const std::string& name, size_t at) {
    ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, name));
    content[at] ^= 1;
    files_.put(name, content);
  }

  MemoryFileSystem files_;
};

TEST_F(TableLookupTest, RowsInTheOrderOfIds) {
  const RowsCheckpoint content = {.rows = test_rows(1'000, 2, 1), .table_files = 3};
  write(content);
  const auto chain = open(1);
  ASSERT_OK_AND_ASSIGN(const RowBlock rows,
                       read_rows(chain, "items", {"weights", "slot/sum"}, {700, 5, -1, 5, 2'000}));
  EXPECT_THAT(rows.ids, ElementsAre(700, 5, 5)) << "those that have a row";
  const auto& a = content.rows.at(700).weights;
  const auto& b = content.rows.at(5).weights;
  EXPECT_THAT(floats(rows.columns[0]), ElementsAre(a[0], a[1], b[0], b[1], b[0], b[1]));
  EXPECT_THAT(floats(rows.columns[1]), ElementsAre(700, 5, 5));
  ASSERT_OK_AND_ASSIGN(const RowBlock none, read_rows(chain, "items", {"weights"}, {}));
  EXPECT_THAT(none.ids, IsEmpty());
  EXPECT_EQ(none.columns.size(), 1);
}

// Looks up existing and absent ids in tables of all small sizes.
TEST_F(TableLookupTest, EveryPlace) {
  for (int64_t count = 0; count < 12; ++count) {
    write({.step = count + 1, .rows = test_rows(count, 2, 1)});
    const auto chain = open(count + 1);
    std::vector<int64_t> ids, expected;
    for (int64_t id = -3; id < 20; ++id) {
      ids.push_back(id);
      if (id >= 1 && id <= count) expected.push_back(id);
    }
    ASSERT_OK_AND_ASSIGN(const RowBlock rows, read_rows(chain, "items", {"weights"}, ids));
    EXPECT_EQ(rows.ids, expected);
  }
}

TEST_F(TableLookupTest, ChainsGiveTheRowsOfTheirEnd) {
  RowsCheckpoint now = {.step = 1, .rows = test_rows(300, 2, 1)};
  write(now);
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < 350; ++id) ids.push_back(id);
  for (int64_t step = 2; step <= 6; ++step) {
    RowsCheckpoint next = now;
    next.step = step;
    for (const auto& [id, row] : test_rows(340, 2, step)) {
      const uint64_t random = xxh3(absl::StrCat(id, "/", step)) % 10;
      if (random == 0) next.rows.erase(id);
      if (random == 1) next.rows[id] = row;
    }
    write(next, &now);
    now = next;
    const auto chain = open(step);
    ASSERT_OK_AND_ASSIGN(const RowBlock rows, read_rows(chain, "items", {"slot/sum"}, ids));
    std::vector<int64_t> expected;
    std::vector<float> sums;
    for (const auto& [id, row] : now.rows) {
      expected.push_back(id);
      sums.push_back(row.sum);
    }
    EXPECT_EQ(rows.ids, expected) << "step " << step;
    EXPECT_EQ(floats(rows.columns[0]), sums) << "step " << step;
  }
}

// Chunks without any requested row are not read, so damage there has no effect.
TEST_F(TableLookupTest, ReadsOnlyChunksWithRowsOfTheIds) {
  constexpr int64_t kRows = 6'000, kDim = 2'048;  // 47 MiB of weights in one file
  RowsCheckpoint content = {.dim = kDim, .table_files = 1};
  std::vector<int64_t> ids;
  for (int64_t id = 1; id <= kRows; ++id) {
    content.rows[id].weights.assign(kDim, static_cast<float>(id));
    ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  write(content);
  const auto chain = open(1);
  const std::string name =
      join_path(join_path("c", checkpoint_name(1)), table_file_name("items", 0, 1));
  flip(name, 40 << 20);  // in the third chunk
  ASSERT_OK_AND_ASSIGN(const RowBlock rows,
                       read_rows(chain, "items", {"weights"}, {ids[0], ids[1'500]}));
  EXPECT_THAT(rows.ids, ElementsAre(ids[0], ids[1'500]));
  EXPECT_EQ(floats(rows.columns[0])[kDim], static_cast<float>(ids[1'500]));
  EXPECT_THAT(read_rows(chain, "items", {"weights"}, {ids[5'000]}).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(name + " is damaged between bytes 33554432")));
  ASSERT_OK_AND_ASSIGN(const RowBlock others, read_rows(chain, "items", {"frequency"}, {ids[0]}));
  EXPECT_EQ(others.columns[0].size(), 8) << "and other columns can be read";
}

TEST_F(TableLookupTest, DamagedIds) {
  write({.rows = test_rows(1'000, 2, 1), .table_files = 1});
  const auto chain = open(1);
  const auto layout = chain[0]->layout(chain[0]->manifest().files(2));
  ASSERT_OK(layout);
  for (const TensorInfo& tensor : layout->tensors()) {
    if (tensor.name != "table/items/ids") continue;
    flip(join_path(join_path("c", checkpoint_name(1)), table_file_name("items", 0, 1)),
         layout->data_begin() + tensor.begin + 100);
  }
  EXPECT_THAT(read_rows(chain, "items", {"weights"}, {7}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged")));
}

TEST_F(TableLookupTest, WhatIsNotThere) {
  write({.rows = test_rows(3, 2, 1)});
  const auto chain = open(1);
  EXPECT_THAT(read_rows(chain, "user", {"weights"}, {7}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no table \"user\"")));
  EXPECT_THAT(read_rows(chain, "items", {"slots"}, {7}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no slots")));
}

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
