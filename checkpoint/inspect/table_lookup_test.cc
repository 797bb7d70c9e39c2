#include "checkpoint/inspect/table_lookup.h"

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

}  // namespace
}  // namespace millrace
