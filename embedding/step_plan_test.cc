#include "embedding/step_plan.h"

#include <cmath>
#include <memory>
#include <vector>

#include "base/status_matchers.h"
#include "optim/sparse_sgd.h"

namespace millrace {
namespace {

using testing::ElementsAre;

// One lookup of a feature with one list.
struct Input {
  std::vector<int64_t> ids;
  Pooling pooling = SUM;
  std::vector<float> weights = {};
  std::vector<int64_t> offsets = {};

  IdLists lists() {
    if (offsets.empty()) offsets = {0, static_cast<int64_t>(ids.size())};
    IdLists result;
    result.ids = ids;
    result.offsets = offsets;
    result.weights = weights;
    result.pooling = pooling;
    return result;
  }
};

class StepPlanTest : public testing::Test {
 protected:
  StepPlanTest() {
    EmbeddingTableOptions options;
    options.name = "t";
    options.dim = 2;
    options.initializer.mutable_constant()->set_value(0);
    table_ = *EmbeddingTable::create(options);
    plan_ = std::make_unique<StepPlan>(*table_);
  }

  std::vector<float> look_up(Input& input) {
    const IdLists lists = input.lists();
    std::vector<float> output(2 * (input.pooling == NONE ? lists.ids.size() : lists.batch()));
    EXPECT_OK(plan_->look_up(lists, output.data(), 2));
    return output;
  }
  // SGD at rate 1 makes a row minus the sum of its gradients.
  void apply(int64_t step = 1) {
    UpdateContext context;
    context.learning_rate = 1;
    plan_->apply(SparseSgdOptimizer(), context, step);
  }
  std::vector<float> row(int64_t id) const {
    RowIndex row;
    table_->find({&id, 1}, {&row, 1});
    if (row == kNoRow) return {};
    return {table_->store().weights(row), table_->store().weights(row) + 2};
  }
  int64_t frequency(int64_t id) const {
    RowIndex row;
    table_->find({&id, 1}, {&row, 1});
    return row == kNoRow ? -1 : table_->store().frequency(row);
  }

  std::unique_ptr<EmbeddingTable> table_;
  std::unique_ptr<StepPlan> plan_;
};

TEST_F(StepPlanTest, RepeatedIdsAddUpOverLookups) {
  Input first{{1, 2, 1}}, second{{2, 3}, MEAN}, third{{3, 3, 1}, NONE};
  look_up(first);
  look_up(second);
  look_up(third);
  EXPECT_EQ(plan_->lookups(), 3);
  EXPECT_THAT(plan_->rows(), ElementsAre(0, 1, 2));
  EXPECT_THAT(plan_->counts(), ElementsAre(3, 2, 3));
  const float gradient1[] = {1, 10}, gradient2[] = {4, 40};
  const float gradient3[] = {0.5, 5, 0.25, 2.5, 8, 80};
  plan_->set_gradient(0, gradient1, 2);
  plan_->set_gradient(1, gradient2, 2);
  plan_->set_gradient(2, gradient3, 2);
  // 1: 2 × 1 + 8; 2: 1 + 4 / 2; 3: 4 / 2 + 0.5 + 0.25
  EXPECT_DOUBLE_EQ(plan_->squared_norm(), (100 + 9 + 2.75 * 2.75) * 101);
  apply(9);
  EXPECT_THAT(row(1), ElementsAre(-10, -100));
  EXPECT_THAT(row(2), ElementsAre(-3, -30));
  EXPECT_THAT(row(3), ElementsAre(-2.75, -27.5));
  EXPECT_EQ(frequency(1), 3);
  EXPECT_EQ(table_->store().last_step(0), 9);
  EXPECT_EQ(plan_->lookups(), 0);
}

TEST_F(StepPlanTest, WeightsMultiplyGradients) {
  Input input{{1, 2}, SUM, {0.5, -2}};
  look_up(input);
  const float gradient[] = {1, 2};
  plan_->set_gradient(0, gradient, 2);
  apply();
  EXPECT_THAT(row(1), ElementsAre(-0.5, -1));
  EXPECT_THAT(row(2), ElementsAre(2, 4));
}

TEST_F(StepPlanTest, SumsManyOccurrencesInDouble) {
  // 1e8, then 1,000 ones, then -1e8: float32 sums lose all the ones.
  Input input{std::vector<int64_t>(1002, 5), NONE};
  look_up(input);
  std::vector<float> gradient(2004, 1);
  gradient[0] = 1e8f;
  gradient[2002] = -1e8f;
  plan_->set_gradient(0, gradient.data(), 2);
  apply();
  EXPECT_THAT(row(5), ElementsAre(-1000, -1002));
}

TEST_F(StepPlanTest, RowsWithoutGradientAreSeenButNotUpdated) {
  Input first{{1, 2}}, second{{2, 3}};
  look_up(first);
  look_up(second);
  const float gradient[] = {1, 1};
  plan_->set_gradient(1, gradient, 2);
  apply();
  EXPECT_THAT(row(1), ElementsAre(0, 0));
  EXPECT_THAT(row(2), ElementsAre(-1, -1));
  EXPECT_EQ(frequency(1), 1);
  EXPECT_EQ(frequency(2), 2);
}

TEST_F(StepPlanTest, DiscardForgetsTheStep) {
  Input first{{1, 2}};
  look_up(first);
  const float gradient[] = {1, 1};
  plan_->set_gradient(0, gradient, 2);
  apply();
  const absl::uint128 digest = table_->content_digest();
  Input second{{2, 7, 7, 8}};
  look_up(second);
  plan_->set_gradient(0, gradient, 2);
  plan_->discard();
  EXPECT_EQ(table_->content_digest(), digest);
  EXPECT_EQ(plan_->lookups(), 0);
  EXPECT_EQ(frequency(7), -1);
  // And the next step is not disturbed by marks left behind.
  Input third{{8, 2, 8}};
  look_up(third);
  EXPECT_THAT(plan_->counts(), ElementsAre(2, 1));
  plan_->set_gradient(0, gradient, 2);
  apply();
  EXPECT_THAT(row(8), ElementsAre(-2, -2));
}

TEST_F(StepPlanTest, StepsWithoutIdsCount) {
  Input empty{{}, SUM, {}, {4, 4, 4, 4}};
  EXPECT_THAT(look_up(empty), testing::Each(0));
  const float gradient[6] = {1, 1, 1, 1, 1, 1};
  plan_->set_gradient(0, gradient, 2);
  apply();
  apply();
  EXPECT_EQ(table_->applied_steps(), 2);
  EXPECT_EQ(table_->statistics().rows, 0);
}

TEST_F(StepPlanTest, WideRowsReduceInChunks) {
  EmbeddingTableOptions options;
  options.name = "wide";
  options.dim = 37;
  options.initializer.mutable_constant()->set_value(0);
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  Input input{{4, 4}, NONE};
  std::vector<float> output(74), gradient(74);
  for (int i = 0; i < 74; ++i) gradient[i] = static_cast<float>(i);
  ASSERT_OK(plan.look_up(input.lists(), output.data(), 37));
  plan.set_gradient(0, gradient.data(), 37);
  UpdateContext context;
  context.learning_rate = 1;
  plan.apply(SparseSgdOptimizer(), context, 1);
  for (int c = 0; c < 37; ++c) EXPECT_EQ(table->store().weights(0)[c], -(2.0f * c + 37));
}

TEST_F(StepPlanTest, ReadOnlyLookupsChangeNothing) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = 2;
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  Input known{{1}};
  std::vector<float> output(2);
  ASSERT_OK(plan.look_up(known.lists(), output.data(), 2));
  UpdateContext context;
  plan.apply(SparseSgdOptimizer(), context, 1);
  table->store().weights(0)[0] = 7;
  const absl::uint128 digest = table->content_digest();

  Input mixed{{6, 1, 6}, NONE};
  std::vector<float> rows(6);
  look_up_read_only(*table, mixed.lists(), rows.data(), 2);
  EXPECT_EQ(table->content_digest(), digest);
  EXPECT_EQ(table->statistics().rows, 1);
  EXPECT_EQ(rows[2], 7);
  std::vector<float> initial(2);
  table->initial_row(6, absl::MakeSpan(initial));
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + 2), initial);
  EXPECT_EQ(std::vector<float>(rows.begin() + 4, rows.end()), initial);
}

}  // namespace
}  // namespace millrace
