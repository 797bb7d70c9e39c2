#include "checkpoint/inspect/checkpoint_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CheckpointDiffTest : public testing::Test {
 protected:
  // Writes both checkpoints and compares them.
  CheckpointDiff diff(const RowsCheckpoint& a, const RowsCheckpoint& b) {
    const std::string folder = std::to_string(++comparisons_);
    EXPECT_OK(write_rows_checkpoint(files_, folder + "a", a));
    EXPECT_OK(write_rows_checkpoint(files_, folder + "b", b));
    return diff_of(folder + "a/step-00000001", folder + "b/step-00000001");
  }
  CheckpointDiff diff_of(const std::string& a, const std::string& b) {
    const auto content_a = CheckpointContent::open(files_, a);
    const auto content_b = CheckpointContent::open(files_, b);
    EXPECT_OK(content_a);
    EXPECT_OK(content_b);
    const absl::StatusOr<CheckpointDiff> diff = compare_checkpoints(**content_a, **content_b);
    EXPECT_OK(diff);
    return diff.value_or(CheckpointDiff());
  }

  MemoryFileSystem files_;
  int comparisons_ = 0;
  RowsCheckpoint content_{.rows = test_rows(5'000, 2, 1)};
};

TEST_F(CheckpointDiffTest, EqualWhateverTheFiles) {
  RowsCheckpoint other = content_;
  other.table_files = 7;
  const CheckpointDiff result = diff(content_, other);
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.equal_dense, 1);
  ASSERT_EQ(result.tables.size(), 1);
  EXPECT_EQ(result.tables[0].unchanged, 5'000);
}

TEST_F(CheckpointDiffTest, Rows) {
  RowsCheckpoint other = content_;
  other.rows.erase(17);
  other.rows.erase(18);
  other.rows[9'000] = {{0, 0}};
  other.rows[3].weights[1] += 0.5f;
  other.rows[4].weights[0] -= 2;
  other.rows[4].frequency += 10;
  other.rows[5].last_step += 1;
  const CheckpointDiff result = diff(content_, other);
  EXPECT_FALSE(result.equal());
  ASSERT_EQ(result.tables.size(), 1);
  const TableDifference& items = result.tables[0];
  EXPECT_EQ(items.rows_a, 5'000);
  EXPECT_EQ(items.rows_b, 4'999);
  EXPECT_EQ(items.added, 1);
  EXPECT_EQ(items.removed, 2);
  EXPECT_EQ(items.changed, 3);
  EXPECT_EQ(items.unchanged, 4'995);
  ASSERT_EQ(items.columns.size(), 3);
  EXPECT_EQ(items.columns[0].name, "weights");
  EXPECT_EQ(items.columns[0].changed_rows, 2);
  EXPECT_EQ(items.columns[0].values.changed, 2);
  EXPECT_NEAR(items.columns[0].values.max_abs, 2, 1e-6);
  EXPECT_EQ(items.columns[1].name, "frequency");
  EXPECT_EQ(items.columns[1].values.max_abs, 10);
  EXPECT_EQ(items.columns[2].name, "last_step");
}

TEST_F(CheckpointDiffTest, DenseTensors) {
  content_.dense = {{"same", {1}},     {"changed", {1, 2, 3}}, {"shape", {1, 2}},  {"gone", {1}},
                    {"nan", {NAN, 1}}, {"infinite", {1, 2}},   {"same_nan", {NAN}}};
  RowsCheckpoint other = content_;
  other.dense["changed"] = {1, 2.25f, 4.5f};
  other.dense["shape"] = {1};
  other.dense.erase("gone");
  other.dense["new"] = {1};
  other.dense["nan"] = {0, 3};
  other.dense["infinite"] = {1, kInfinity};
  const CheckpointDiff result = diff(content_, other);
  EXPECT_EQ(result.equal_dense, 2);
  ASSERT_EQ(result.dense.size(), 6);
  const auto expect = [&](size_t i, const char* name, const char* a, const char* b) {
    EXPECT_EQ(result.dense[i].name, name);
    EXPECT_EQ(result.dense[i].a, a);
    EXPECT_EQ(result.dense[i].b, b);
  };
  expect(0, "changed", "F32 [3]", "F32 [3]");
  EXPECT_EQ(result.dense[0].values.changed, 2);
  EXPECT_EQ(result.dense[0].values.max_abs, 1.5);
  expect(1, "gone", "F32 [1]", "");
  expect(2, "infinite", "F32 [2]", "F32 [2]");
  EXPECT_EQ(result.dense[2].values.max_abs, kInfinity);
  expect(3, "nan", "F32 [2]", "F32 [2]");
  EXPECT_EQ(result.dense[3].values.changed, 2);
  EXPECT_EQ(result.dense[3].values.not_a_number, 1);
  EXPECT_EQ(result.dense[3].values.max_abs, 2);
  expect(4, "new", "", "F32 [1]");
  expect(5, "shape", "F32 [2]", "F32 [1]");
  EXPECT_TRUE(result.tables[0].equal());
}

TEST_F(CheckpointDiffTest, TablesThatOneLacks) {
  RowsCheckpoint other = content_;
  other.table = "users";
  const CheckpointDiff result = diff(content_, other);
  ASSERT_EQ(result.tables.size(), 2);
  EXPECT_EQ(result.tables[0].name, "items");
  EXPECT_FALSE(result.tables[0].in_b);
  EXPECT_EQ(result.tables[0].removed, 5'000);
  EXPECT_FALSE(result.tables[1].in_a);
  EXPECT_EQ(result.tables[1].added, 5'000);
  EXPECT_FALSE(result.equal());
}

TEST_F(CheckpointDiffTest, AnotherDimension) {
  RowsCheckpoint other = content_;
  other.dim = 3;
  other.rows = test_rows(5'000, 3, 1);
  const CheckpointDiff result = diff(content_, other);
  const TableDifference& items = result.tables[0];
  ASSERT_EQ(items.columns.size(), 1);
  EXPECT_EQ(items.columns[0].a, "F32 × 2");
  EXPECT_EQ(items.columns[0].b, "F32 × 3");
  EXPECT_EQ(items.unchanged, 5'000) << "by what can be compared";
  EXPECT_FALSE(result.equal());
}

TEST_F(CheckpointDiffTest, ModelOnly) {
  RowsCheckpoint other = content_;
  other.row_state = false;
  const CheckpointDiff result = diff(content_, other);
  EXPECT_THAT(result.parts, ElementsAre("ROW_STATE: only in a"));
  ASSERT_EQ(result.tables[0].columns.size(), 3);
  EXPECT_EQ(result.tables[0].columns[0].name, "slot/sum");
  EXPECT_EQ(result.tables[0].columns[0].b, "");
  EXPECT_EQ(result.tables[0].unchanged, 5'000);
  EXPECT_FALSE(result.equal());
}

TEST_F(CheckpointDiffTest, ProgressAndJob) {
  content_.config = "train_data { path: \"a\" } max_steps: 10 seed: 1";
  RowsCheckpoint other = content_;
  other.config = "train_data { path: \"b\" } max_steps: 20 seed: 1";
  EXPECT_TRUE(diff(content_, other).equal()) << "limits and paths are not the job";
  other.config = "train_data { path: \"a\" } seed: 2";
  EXPECT_THAT(diff(content_, other).job, ElementsAre(HasSubstr("seed: 1 → 2")));

  other = content_;
  other.step = 3;
  ASSERT_OK(write_rows_checkpoint(files_, "a", content_));
  ASSERT_OK(write_rows_checkpoint(files_, "a", other));
  const CheckpointDiff result = diff_of("a/step-00000001", "a/step-00000003");
  EXPECT_THAT(result.progress, ElementsAre("step: 1 → 3"));
  EXPECT_THAT(result.job, IsEmpty());
  EXPECT_FALSE(result.equal());
}

// Some programs do not know a job's own extensions.
TEST_F(CheckpointDiffTest, ConfigurationsThatCannotBeRead) {
  content_.fingerprint = "1";
  content_.config = "model { [own.extension] { x: 1 } }";
  RowsCheckpoint other = content_;
  other.config = "model { [own.extension] { x: 2 } }";
  EXPECT_TRUE(diff(content_, other).equal());
  other.fingerprint = "2";
  EXPECT_THAT(diff(content_, other).job, ElementsAre("fingerprint: 1 → 2"));
}

// A delta has the same content as the whole checkpoint of its step.
TEST_F(CheckpointDiffTest, DeltasAreWhole) {
  RowsCheckpoint next = content_;
  next.step = 2;
  next.rows.erase(1);
  next.rows[2].sum = -1;
  ASSERT_OK(write_rows_checkpoint(files_, "a", content_));
  ASSERT_OK(write_rows_checkpoint(files_, "a", next, &content_));
  ASSERT_OK(write_rows_checkpoint(files_, "b", next));
  EXPECT_TRUE(diff_of("a/step-00000002", "b/step-00000002").equal());
  const CheckpointDiff result = diff_of("a/step-00000001", "a/step-00000002");
  EXPECT_EQ(result.tables[0].removed, 1);
  EXPECT_EQ(result.tables[0].changed, 1);
}

TEST_F(CheckpointDiffTest, DamageIsAnError) {
  ASSERT_OK(write_small_checkpoint(files_, "a", {.step = 1}));
  ASSERT_OK(write_small_checkpoint(files_, "b", {.step = 1, .seed = 2}));
  const std::string name = "b/step-00000001/table-items-00000-of-00002.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, name));
  bytes.back() ^= 1;
  files_.put(name, bytes);
  ASSERT_OK_AND_ASSIGN(const auto a, CheckpointContent::open(files_, "a/step-00000001"));
  ASSERT_OK_AND_ASSIGN(const auto b, CheckpointContent::open(files_, "b/step-00000001"));
  EXPECT_THAT(compare_checkpoints(*a, *b).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(name + " is damaged")));
}

}  // namespace
}  // namespace millrace
