#include "checkpoint/state/frozen_state.h"

#include <ATen/ATen.h>

#include <set>
#include <utility>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

class FrozenStateTest : public testing::Test {
 protected:
  FrozenStateTest() : state_(tiny_state(1, {"", "row_dtype: FLOAT16"})) {
    step_state(state_, {1, 2, 3, 4, 5});
    step_state(state_, {4, 5, 6});
  }
  TinyState state_;
  ThreadPool threads_{2};
};

TEST_F(FrozenStateTest, AFrozenOneStaysAndAViewGoesOn) {
  const FrozenState view = view_state(state_.state());
  const auto budget = std::make_shared<UndoBudget>(int64_t{1} << 20);
  ASSERT_OK_AND_ASSIGN(const FrozenState frozen, freeze_state(state_.state(), budget, threads_));
  const at::Tensor weight = state_.dense[0].value.detach().clone();
  const absl::uint128 rows = state_.tables[1]->content().digest();
  ASSERT_EQ(frozen.tables.size(), 2);
  ASSERT_EQ(frozen.dense.size(), 5);
  ASSERT_EQ(frozen.optimizer_tensors.size(), view.optimizer_tensors.size());
  step_state(state_, {1, 6, 7, 8});
  EXPECT_TRUE(frozen.dense[0].value.equal(weight));
  EXPECT_FALSE(view.dense[0].value.equal(weight)) << "the step changed it";
  EXPECT_EQ(frozen.tables[1]->rows().content_digest(threads_), rows);
  EXPECT_NE(state_.tables[1]->content().digest(), rows);
  EXPECT_EQ(frozen.tables[1]->rows().size(), 6);
  EXPECT_EQ(frozen.shared.progress().step(), 2);
  EXPECT_GT(budget->most_bytes(), 0);
  for (const auto& table : frozen.tables) table->finish();
  EXPECT_EQ(budget->taken_bytes(), 0);
}

TEST_F(FrozenStateTest, OfOptimizersToo) {
  ASSERT_OK_AND_ASSIGN(
      const FrozenState frozen,
      freeze_state(state_.state(), std::make_shared<UndoBudget>(int64_t{1} << 20), threads_));
  const std::vector<NamedParameter> before = state_.state().optimizer_tensors();
  std::vector<at::Tensor> values;
  for (const NamedParameter& tensor : before) values.push_back(tensor.value.clone());
  step_state(state_, {1});
  int changed = 0;
  const std::vector<NamedParameter> after = state_.state().optimizer_tensors();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(frozen.optimizer_tensors[i].name, before[i].name);
    EXPECT_TRUE(frozen.optimizer_tensors[i].value.equal(values[i])) << before[i].name;
    changed += after[i].value.equal(values[i]) ? 0 : 1;
  }
  EXPECT_GE(changed, 4);
}

// This size is requested from the disk before any write.
TEST_F(FrozenStateTest, TheSizeIsAboutThatOfTheFiles) {
  for (int64_t id = 100; id < 2000; id += 19) step_state(state_, {id, id + 1, id + 2, id + 3});
  MemoryFileSystem files;
  ASSERT_OK(write_state(files, "c", state_.state()));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files, "c/step-00000102"));
  const auto written = static_cast<double>(total_bytes(reader->manifest()));
  const auto said = static_cast<double>(view_state(state_.state()).size_bytes());
  EXPECT_GT(said, 0.9 * written);
  EXPECT_LT(said, 1.3 * written);
  EXPECT_EQ(row_bytes(state_.state()), 406 * (12 + 8) + 406 * (6 + 2 + 8));
}

// Saves the rows of some ids.
class RowsOfIds : public RowFilter {
 public:
  explicit RowsOfIds(std::set<int64_t> ids) : ids_(std::move(ids)) {}
  bool saves(const RowToSave& row) const override {
    return ids_.count(row.id) > 0 && row.step == 2;
  }

 private:
  const std::set<int64_t> ids_;
};

TEST_F(FrozenStateTest, SelectedRowsAreThoseOfATableWithoutTheOthers) {
  TinyState fewer = tiny_state(1, {"", "row_dtype: FLOAT16"});
  step_state(fewer, {2, 3, 5});
  step_state(fewer, {5, 6});
  const TableRowFilter filter = {std::make_shared<RowsOfIds>(std::set<int64_t>{2, 3, 5, 6})};
  const auto budget = std::make_shared<UndoBudget>(int64_t{1} << 20);
  for (const bool frozen : {false, true}) {
    FrozenState state = view_state(state_.state());
    if (frozen) {
      ASSERT_OK_AND_ASSIGN(state, freeze_state(state_.state(), budget, threads_));
    }
    select_rows(filter, &state, threads_);
    for (size_t i = 0; i < state.tables.size(); ++i) {
      EXPECT_EQ(state.tables[i]->rows().size(), 4) << "table " << i << ", frozen " << frozen;
      EXPECT_EQ(state.tables[i]->omitted_rows(), 2) << "table " << i << ", frozen " << frozen;
      EXPECT_EQ(state.tables[i]->rows().content_digest(threads_),
                fewer.tables[i]->content().digest())
          << "table " << i << ", frozen " << frozen;
    }
    for (const auto& table : state.tables) table->finish();
  }
  EXPECT_EQ(state_.tables[0]->rows(), 6) << "the table itself keeps its rows";
}

TEST_F(FrozenStateTest, RowsAreSelectedInTheNamedTables) {
  FrozenState state = view_state(state_.state());
  select_rows({std::make_shared<RowsOfIds>(std::set<int64_t>{1}), {state.tables[1]->name()}},
              &state, threads_);
  EXPECT_EQ(state.tables[0]->rows().size(), 6);
  EXPECT_EQ(state.tables[0]->omitted_rows(), 0);
  EXPECT_EQ(state.tables[1]->rows().size(), 1);
  select_rows(TableRowFilter(), &state, threads_);
  EXPECT_EQ(state.tables[0]->rows().size(), 6) << "without a filter";
}

}  // namespace
}  // namespace millrace
