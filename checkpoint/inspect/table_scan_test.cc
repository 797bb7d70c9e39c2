#include "checkpoint/inspect/table_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kAll = {"weights", "slot/sum", "frequency", "last_step"};

template <typename Number>
Number number(absl::string_view bytes, size_t at = 0) {
  Number value;
  std::memcpy(&value, bytes.data() + at * sizeof(value), sizeof(value));
  return value;
}

class TableScanTest : public testing::Test {
 protected:
  void write(const RowsCheckpoint& content, const RowsCheckpoint* base = nullptr) {
    ASSERT_OK(write_rows_checkpoint(files_, "c", content, base));
  }
  std::vector<std::unique_ptr<CheckpointReader>> open(int64_t step) {
    auto chain = open_chain(files_, join_path("c", checkpoint_name(step)));
    EXPECT_OK(chain);
    return *std::move(chain);
  }
  // Reads all rows and checks that their ids are in ascending order of hash.
  absl::StatusOr<std::map<int64_t, TestRow>> scan(
      absl::Span<const std::unique_ptr<CheckpointReader>> chain) {
    auto scan = TableScan::open(chain, "items", kAll);
    if (!scan.ok()) return scan.status();
    std::map<int64_t, TestRow> rows;
    uint64_t last = 0;
    for (RowBlock block;;) {
      const absl::Status status = (*scan)->next(&block);
      if (!status.ok()) return status;
      if (block.rows() == 0) return rows;
      for (int64_t i = 0; i < block.rows(); ++i) {
        const uint64_t hash = placement_hash(block.ids[i]);
        EXPECT_TRUE(rows.empty() || hash > last);
        last = hash;
        TestRow& row = rows[block.ids[i]];
        const int64_t dim = (*scan)->columns()[0].width;
        for (int64_t j = 0; j < dim; ++j) {
          row.weights.push_back(number<float>(block.row(0, i, 4 * dim), j));
        }
        row.sum = number<float>(block.row(1, i, 4));
        row.frequency = number<int64_t>(block.row(2, i, 8));
        row.last_step = number<int64_t>(block.row(3, i, 8));
      }
    }
  }

  MemoryFileSystem files_;
};

TEST_F(TableScanTest, AllRowsOfAWholeCheckpoint) {
  for (const int64_t count : {0, 1, 4096, 10'000}) {
    const RowsCheckpoint content = {
        .step = count + 1, .rows = test_rows(count, 3, 7), .table_files = 3};
    RowsCheckpoint with_dim = content;
    with_dim.dim = 3;
    write(with_dim);
    ASSERT_OK_AND_ASSIGN(const auto rows, scan(open(count + 1)));
    EXPECT_EQ(rows, content.rows) << count;
  }
}

// Histories of rows that change, disappear and return.
TEST_F(TableScanTest, ChainsGiveTheRowsOfTheirEnd) {
  RowsCheckpoint now = {.step = 1, .rows = test_rows(9'000, 2, 1), .table_files = 2};
  write(now);
  for (int64_t step = 2; step <= 6; ++step) {
    RowsCheckpoint next = now;
    next.step = step;
    next.table_files = static_cast<int>(step);
    for (const auto& [id, row] : test_rows(9'500, 2, step)) {
      const uint64_t random = xxh3(absl::StrCat(id, "/", step)) % 100;
      if (random < 3) next.rows.erase(id);
      if (random >= 95) next.rows[id] = row;
    }
    write(next, &now);
    now = next;
    const auto chain = open(step);
    ASSERT_EQ(chain.size(), static_cast<size_t>(step));
    ASSERT_OK_AND_ASSIGN(const auto rows, scan(chain));
    EXPECT_EQ(rows, now.rows) << "step " << step;
  }
}

TEST_F(TableScanTest, TheEndOfAChainHasWhatItChanged) {
  RowsCheckpoint base = {.step = 1, .rows = test_rows(100, 2, 1)};
  write(base);
  RowsCheckpoint next = base;
  next.step = 2;
  next.rows.erase(5);
  next.rows.erase(17);
  next.rows[3].sum = 99;
  next.rows[200] = {{1, 2}};
  write(next, &base);
  const auto chain = open(2);
  ASSERT_OK_AND_ASSIGN(const auto rows, scan(absl::MakeSpan(chain).subspan(1)));
  EXPECT_EQ(rows, (std::map<int64_t, TestRow>{{3, next.rows[3]}, {200, next.rows[200]}}));
  EXPECT_EQ(held_rows(chain[0]->manifest(), "items"), 100);
  EXPECT_EQ(held_rows(chain[1]->manifest(), "items"), 2);
  EXPECT_EQ(held_rows(chain[1]->manifest(), "item"), 0);
  std::vector<int64_t> gone = {5, 17};
  if (placement_hash(17) < placement_hash(5)) std::swap(gone[0], gone[1]);
  ASSERT_OK_AND_ASSIGN(const auto tombstones, read_tombstones(*chain[1], "items"));
  EXPECT_EQ(tombstones, gone);
  ASSERT_OK_AND_ASSIGN(const auto none, read_tombstones(*chain[0], "items"));
  EXPECT_THAT(none, IsEmpty());
}

TEST_F(TableScanTest, ColumnsAreWhatIsThere) {
  write({.step = 1, .rows = test_rows(10, 2, 1)});
  write({.step = 2, .rows = test_rows(10, 2, 1), .row_state = false});
  std::vector<std::string> names;
  const auto full = open(1), model = open(2);
  for (const TableColumn& column : table_columns(full[0]->manifest(), "items")) {
    names.push_back(column.name);
  }
  EXPECT_EQ(names, kAll);
  const auto weights = table_columns(model[0]->manifest(), "items");
  ASSERT_EQ(weights.size(), 1);
  EXPECT_EQ(weights[0].name, "weights");
  EXPECT_EQ(weights[0].row_bytes(), 8);
  EXPECT_THAT(weights[0].shape(5), ElementsAre(5, 2));
  EXPECT_THAT(table_columns(full[0]->manifest(), "users"), IsEmpty());

  EXPECT_THAT(scan(model).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("c/step-00000002"), HasSubstr("has no slot/sum"))));
  EXPECT_THAT(find_columns(full[0]->manifest(), "item", {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"items\"")));
  EXPECT_THAT(find_columns(full[0]->manifest(), "items", {"weight"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"weights\"")));
}

TEST_F(TableScanTest, SixteenBitRows) {
  ASSERT_OK(write_small_checkpoint(files_, "c", {.step = 9}));
  const auto chain = open(9);
  ASSERT_OK_AND_ASSIGN(const auto scan, TableScan::open(chain, "items", {"weights"}));
  EXPECT_EQ(scan->columns()[0].type, TensorType::kBf16);
  EXPECT_EQ(scan->columns()[0].row_bytes(), 6);
  RowBlock block;
  ASSERT_OK(scan->next(&block));
  EXPECT_EQ(block.rows(), 5);
  EXPECT_EQ(block.columns[0].size(), 30);
  ASSERT_OK(scan->next(&block));
  EXPECT_EQ(block.rows(), 0);
}

TEST_F(TableScanTest, DamageIsFound) {
  write({.step = 1, .rows = test_rows(1'000, 2, 1)});
  const std::string name =
      join_path(join_path("c", checkpoint_name(1)), table_file_name("items", 1, 2));
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, name));
  content[content.size() - 100] ^= 1;
  files_.put(name, content);
  EXPECT_THAT(scan(open(1)).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(name + " is damaged between bytes")));
}

// The delta has another number of rows than its manifest states.
TEST_F(TableScanTest, RowsAreCounted) {
  RowsCheckpoint base = {.step = 1, .rows = test_rows(100, 2, 1)};
  write(base);
  RowsCheckpoint believed = base, next = base;
  believed.rows[200] = next.rows[200] = {{1, 2}};
  next.step = 2;
  write(next, &believed);
  EXPECT_THAT(scan(open(2)).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("table items: has 100 rows; the manifest says 101")));
}

}  // namespace
}  // namespace millrace
