#include "embedding/shard/owner_plan.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "optim/rows/sparse_sgd.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr Placement kPlacement = {.rank = 1, .world_size = 3};

// Returns an id of a rank.
int64_t id_of(int rank) {
  int64_t id = 0;
  while (Placement::owner(id, kPlacement.world_size) != rank) ++id;
  return id;
}

std::unique_ptr<EmbeddingTable> make_table() {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = 1;
  options.placement = kPlacement;
  options.initializer.mutable_constant()->set_value(5);
  return *EmbeddingTable::create(options);
}

// Trains one step on an id that all three ranks look up. `gradients`: by rank. `arrival`: the order
// of set_sums(). Returns the weight of the row.
float weight_after(const std::array<float, 3>& gradients, const std::array<int, 3>& arrival) {
  const std::unique_ptr<EmbeddingTable> table = make_table();
  OwnerPlan plan(*table, kPlacement);
  plan.begin(/*training=*/true);
  const int64_t id = id_of(kPlacement.rank);
  for (const int rank : arrival) EXPECT_OK(plan.find(rank, {&id, 1}));
  for (const int rank : arrival) plan.set_sums(rank, {1}, {&gradients[rank]});
  EXPECT_TRUE(plan.add_up());
  UpdateContext context;
  context.learning_rate = 1;
  plan.apply(SparseSgdOptimizer(), context, 1);
  RowIndex row = kNoRow;
  table->find({&id, 1}, {&row, 1});
  EXPECT_NE(row, kNoRow);
  EXPECT_EQ(table->content().rows().frequency(row), 3u);
  return table->content().rows().weights(row)[0];
}

// A float64 sum that depends on the order: 1 is lost if added to 1e30.
TEST(OwnerPlanTest, GradientsAreAddedInTheOrderOfRanks) {
  std::array<int, 3> arrival = {0, 1, 2};
  do {
    EXPECT_EQ(weight_after({1e30f, -1e30f, 1}, arrival), 4);
    EXPECT_EQ(weight_after({1e30f, 1, -1e30f}, arrival), 5);
    EXPECT_EQ(weight_after({1, 1e30f, -1e30f}, arrival), 5);
  } while (std::next_permutation(arrival.begin(), arrival.end()));
}

TEST(OwnerPlanTest, ASumOfOneRankIsItsGradient) {
  EXPECT_EQ(weight_after({0, 0.1f, 0}, {2, 0, 1}), 5 - 0.1f);
}

TEST(OwnerPlanTest, IdsOfOtherRanksAreErrors) {
  const std::unique_ptr<EmbeddingTable> table = make_table();
  OwnerPlan plan(*table, kPlacement);
  plan.begin(/*training=*/true);
  const int64_t id = id_of(2);
  EXPECT_THAT(plan.find(0, {&id, 1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr("is one of rank 2, not of rank 1")));
}

// Only apply() adds rows; a discarded step adds none.
TEST(OwnerPlanTest, RowsAppearInApplyAlone) {
  const std::unique_ptr<EmbeddingTable> table = make_table();
  OwnerPlan plan(*table, kPlacement);
  const int64_t id = id_of(kPlacement.rank);
  const float gradient = 1;
  UpdateContext context;
  context.learning_rate = 1;
  for (const bool applied : {false, true}) {
    plan.begin(/*training=*/true);
    ASSERT_OK(plan.find(0, {&id, 1}));
    plan.set_sums(0, {2}, {&gradient});
    EXPECT_TRUE(plan.add_up());
    EXPECT_EQ(plan.new_rows(), 1);
    EXPECT_EQ(table->rows(), 0);
    if (!applied) {
      plan.discard();
      continue;
    }
    plan.apply(SparseSgdOptimizer(), context, 1);
    EXPECT_EQ(table->rows(), 1);
  }
}

// discard() removes the sums of a step that is repeated.
TEST(OwnerPlanTest, DiscardForgetsSums) {
  const std::unique_ptr<EmbeddingTable> table = make_table();
  OwnerPlan plan(*table, kPlacement);
  const int64_t id = id_of(kPlacement.rank);
  plan.begin(/*training=*/true);
  ASSERT_OK(plan.find(0, {&id, 1}));
  for (const float gradient : {3.0f, 2.0f}) {
    plan.set_sums(0, {1}, {&gradient});
    EXPECT_TRUE(plan.add_up());
    EXPECT_EQ(plan.squared_norm(), gradient * gradient);
    plan.discard();
  }
}

}  // namespace
}  // namespace millrace
