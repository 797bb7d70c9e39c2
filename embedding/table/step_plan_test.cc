#include "embedding/table/step_plan.h"

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/status_matchers.h"
#include "optim/rows/sparse_sgd.h"

namespace millrace {
namespace {

using testing::ElementsAre;

// A lookup of a feature with one list by default.
struct Input {
  std::vector<int64_t> ids;
  Pooling pooling = SUM;
  std::vector<float> weights = {};
  std::vector<int64_t> offsets = {};
  int64_t first_n = 1;

  IdLists lists() {
    if (offsets.empty()) offsets = {0, static_cast<int64_t>(ids.size())};
    IdLists result;
    result.ids = ids;
    result.offsets = offsets;
    result.weights = weights;
    result.pooling = pooling;
    result.first_n = first_n;
    return result;
  }
};

class StepPlanTest : public testing::Test {
 protected:
  StepPlanTest() {
    table_ = make_table();
    plan_ = std::make_unique<StepPlan>(*table_);
  }
  static std::unique_ptr<EmbeddingTable> make_table() {
    EmbeddingTableOptions options;
    options.name = "t";
    options.dim = 2;
    options.initializer.mutable_constant()->set_value(0);
    return *EmbeddingTable::create(options);
  }

  std::vector<float> look_up(Input& input) {
    const IdLists lists = input.lists();
    const int64_t width = 2 * lists.width();
    std::vector<float> output(width * (input.pooling == NONE ? lists.ids.size() : lists.batch()));
    EXPECT_OK(plan_->look_up(lists, {output.data(), width}));
    return output;
  }
  // SGD with rate 1 subtracts the sum of the gradients from a row.
  void apply(int64_t step = 1) {
    UpdateContext context;
    context.learning_rate = 1;
    plan_->apply(SparseSgdOptimizer(), context, step);
  }
  static std::vector<float> row_of(const EmbeddingTable& table, int64_t id) {
    RowIndex row;
    table.find({&id, 1}, {&row, 1});
    if (row == kNoRow) return {};
    return {table.content().rows().weights(row), table.content().rows().weights(row) + 2};
  }
  std::vector<float> row(int64_t id) const { return row_of(*table_, id); }
  int64_t frequency(int64_t id) const {
    RowIndex row;
    table_->find({&id, 1}, {&row, 1});
    return row == kNoRow ? -1 : static_cast<int64_t>(table_->content().rows().frequency(row));
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
  EXPECT_EQ(table_->content().rows().last_step(0), 9);
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

TEST_F(StepPlanTest, MeanGradientsDivideByTheOccurrences) {
  plan_->set_mean_gradients(true);
  // Id 1 occurs three times; id 2 four times, once without a gradient; id 3 once.
  Input first{{1, 2, 1}}, second{{2, 3}, MEAN}, third{{1, 2}, NONE}, unread{{2}};
  look_up(first);
  look_up(second);
  look_up(third);
  look_up(unread);
  EXPECT_THAT(plan_->counts(), ElementsAre(3, 4, 1));
  const float gradient1[] = {1, 10}, gradient2[] = {4, 40}, gradient3[] = {4, 40, 8, 80};
  plan_->set_gradient(0, gradient1, 2);
  plan_->set_gradient(1, gradient2, 2);
  plan_->set_gradient(2, gradient3, 2);
  EXPECT_TRUE(plan_->gradients_are_finite());
  // 1: (2 × 1 + 4) / 3; 2: (1 + 4 / 2 + 8) / 4; 3: 4 / 2
  EXPECT_NEAR(plan_->squared_norm(), (4 + 2.75 * 2.75 + 4) * 101, 1e-3);
  apply();
  EXPECT_THAT(row(1), ElementsAre(testing::FloatEq(-2), testing::FloatEq(-20)));
  EXPECT_THAT(row(2), ElementsAre(-2.75, -27.5));
  EXPECT_THAT(row(3), ElementsAre(-2, -20));
  EXPECT_EQ(frequency(1), 3);
}

TEST_F(StepPlanTest, MeanGradientsOfIdsThatOccurOnceAreTheirs) {
  // Includes a row with one gradient and an occurrence without.
  plan_->set_mean_gradients(true);
  Input once{{1, 2}, NONE}, again{{2}};
  look_up(once);
  const float gradient[] = {0.1f, 0.2f, 0.3f, 0.4f};
  plan_->set_gradient(0, gradient, 2);
  EXPECT_TRUE(plan_->gradients_are_finite());
  look_up(again);  // the earlier sums are not valid any more
  apply();
  EXPECT_THAT(row(1), ElementsAre(-0.1f, -0.2f));
  EXPECT_THAT(row(2), ElementsAre(-0.15f, -0.2f));
}

TEST_F(StepPlanTest, ManyOccurrencesKeepTheirDigits) {
  // 1e8, then 1,000 ones, then -1e8: a float32 sum loses all ones.
  Input input{std::vector<int64_t>(1002, 5), NONE};
  look_up(input);
  std::vector<float> gradient(2004, 1);
  gradient[0] = 1e8f;
  gradient[2002] = -1e8f;
  plan_->set_gradient(0, gradient.data(), 2);
  apply();
  EXPECT_THAT(row(5), ElementsAre(-1000, -1002));
}

TEST_F(StepPlanTest, PlansOfAThreadTakeTurns) {
  // Two plans with alternating calls, on one thread and on several, have the results of separate
  // runs.
  std::vector<float> gradient(2 * 600);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = static_cast<float>(i % 7) - 2.5f;
  const auto run = [&](const std::function<void(const std::function<void()>&)>& call) {
    std::vector<std::unique_ptr<EmbeddingTable>> tables;
    std::vector<std::unique_ptr<StepPlan>> plans;
    for (int t = 0; t < 2; ++t) {
      tables.push_back(make_table());
      plans.push_back(std::make_unique<StepPlan>(*tables.back()));
    }
    // Many ids with weights, and few ids without.
    Input many, few{{5, 1, 5}, NONE};
    for (int64_t i = 0; i < 600; ++i) {
      many.ids.push_back(i * i % 97);
      many.weights.push_back(static_cast<float>(i % 5));
      many.offsets.push_back(i);
    }
    many.offsets.push_back(600);
    std::vector<float> output(2 * 600);
    UpdateContext context;
    context.learning_rate = 1;
    const auto apply = [&](int t) {
      call([&] { plans[t]->apply(SparseSgdOptimizer(), context, 1); });
    };
    call([&] { EXPECT_OK(plans[0]->look_up(many.lists(), {output.data(), 2})); });
    call([&] { EXPECT_OK(plans[1]->look_up(few.lists(), {output.data(), 2})); });
    for (int t = 0; t < 2; ++t) call([&] { plans[t]->set_gradient(0, gradient.data(), 2); });
    call([&] { EXPECT_TRUE(plans[0]->squared_norm() > 0); });
    apply(1);
    apply(0);
    std::vector<std::vector<float>> rows;
    for (int t = 0; t < 2; ++t) {
      for (int64_t id = 0; id < 97; ++id) rows.push_back(row_of(*tables[t], id));
    }
    return rows;
  };
  const auto here = run([](const std::function<void()>& body) { body(); });
  const auto elsewhere = run([](const std::function<void()>& body) { std::thread(body).join(); });
  EXPECT_EQ(here, elsewhere);
  EXPECT_THAT(here[97 + 5],
              ElementsAre(-(gradient[0] + gradient[4]), -(gradient[1] + gradient[5])));
  std::vector<double> expected(2);
  for (int64_t i = 0; i < 600; ++i) {
    if (i * i % 97 != 4) continue;
    for (int c = 0; c < 2; ++c) expected[c] -= static_cast<double>(i % 5) * gradient[2 * i + c];
  }
  EXPECT_THAT(here[4], ElementsAre(expected[0], expected[1]));
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
  const absl::uint128 digest = table_->content().digest();
  Input second{{2, 7, 7, 8}};
  look_up(second);
  plan_->set_gradient(0, gradient, 2);
  plan_->discard();
  EXPECT_EQ(table_->content().digest(), digest);
  EXPECT_EQ(plan_->lookups(), 0);
  EXPECT_EQ(frequency(7), -1);
  // Marks of the previous step do not affect the next step.
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
  EXPECT_EQ(table_->maintenance().statistics().rows, 0);
}

TEST_F(StepPlanTest, RowsWithColumnsLeftOverAddUp) {
  EmbeddingTableOptions options;
  options.name = "wide";
  options.dim = 37;
  options.initializer.mutable_constant()->set_value(0);
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  Input input{{4, 4}, NONE};
  std::vector<float> output(74), gradient(74);
  for (int i = 0; i < 74; ++i) gradient[i] = static_cast<float>(i);
  ASSERT_OK(plan.look_up(input.lists(), {output.data(), 37}));
  plan.set_gradient(0, gradient.data(), 37);
  UpdateContext context;
  context.learning_rate = 1;
  plan.apply(SparseSgdOptimizer(), context, 1);
  for (int c = 0; c < 37; ++c) EXPECT_EQ(table->content().rows().weights(0)[c], -(2.0f * c + 37));
}

TEST_F(StepPlanTest, ReadOnlyLookupsChangeNothing) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = 2;
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  Input known{{1}};
  std::vector<float> output(2);
  ASSERT_OK(plan.look_up(known.lists(), {output.data(), 2}));
  UpdateContext context;
  plan.apply(SparseSgdOptimizer(), context, 1);
  table->content().mutable_row(0).weights()[0] = 7;
  const absl::uint128 digest = table->content().digest();

  Input mixed{{6, 1, 6}, NONE};
  std::vector<float> rows(6);
  look_up_read_only(*table, mixed.lists(), {rows.data(), 2});
  EXPECT_EQ(table->content().digest(), digest);
  EXPECT_EQ(table->maintenance().statistics().rows, 1);
  EXPECT_EQ(rows[2], 7);
  std::vector<float> initial(2);
  table->initial_row(6, absl::MakeSpan(initial));
  EXPECT_EQ(std::vector<float>(rows.begin(), rows.begin() + 2), initial);
  EXPECT_EQ(std::vector<float>(rows.begin() + 4, rows.end()), initial);
}

TEST_F(StepPlanTest, SquareRootPoolingDividesRowsAndGradients) {
  Input input{{1, 1, 1, 1}, SQUARE_ROOT_N};
  look_up(input);
  const float gradient[] = {3, 30};
  plan_->set_gradient(0, gradient, 2);
  apply();
  EXPECT_THAT(row(1), ElementsAre(-6, -60));  // 4 × 3 / 2
  EXPECT_THAT(look_up(input), ElementsAre(-12, -120));
  plan_->discard();
}

TEST_F(StepPlanTest, ListsOfEveryLengthOverManyChunks) {
  // More ids than a block of the map, with lists of any length.
  std::vector<int64_t> ids, offsets = {0};
  for (int64_t list = 0; list < 40; ++list) {
    for (int64_t i = 0; i < list * 7 % 23; ++i) ids.push_back((list * 31 + i) % 57);
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  // The row of an id: (-id, 2 id).
  std::vector<int64_t> all(57);
  std::vector<float> gradient;
  for (int64_t id = 0; id < 57; ++id) {
    all[id] = id;
    gradient.push_back(static_cast<float>(id));
    gradient.push_back(static_cast<float>(-2 * id));
  }
  Input make{all, NONE};
  look_up(make);
  plan_->set_gradient(0, gradient.data(), 2);
  apply();
  for (const Pooling pooling : {SUM, MEAN, SQUARE_ROOT_N}) {
    Input input{ids, pooling, {}, offsets};
    const std::vector<float> output = look_up(input);
    std::vector<float> read_only(output.size());
    look_up_read_only(*table_, input.lists(), {read_only.data(), 2});
    EXPECT_EQ(output, read_only);
    for (size_t list = 0; list + 1 < offsets.size(); ++list) {
      float sum = 0;
      for (int64_t i = offsets[list]; i < offsets[list + 1]; ++i) sum -= static_cast<float>(ids[i]);
      const auto length = static_cast<float>(offsets[list + 1] - offsets[list]);
      if (length > 0 && pooling == MEAN) sum /= length;
      if (length > 0 && pooling == SQUARE_ROOT_N) sum /= std::sqrt(length);
      ASSERT_EQ(output[2 * list], sum) << list;
    }
    plan_->discard();
  }
}

TEST_F(StepPlanTest, FirstRowsStandSideBySide) {
  Input make{{1, 2, 3}, NONE};
  look_up(make);
  const float gradient[] = {-1, -10, -2, -20, -3, -30};
  plan_->set_gradient(0, gradient, 2);
  apply(1);
  // Weights have no effect.
  for (const std::vector<float>& weights : {std::vector<float>(), std::vector<float>(5, 7)}) {
    Input input{{3, 1, 2, 2, 2}, FIRST_N, weights, {0, 2, 2, 3, 5}, 2};
    const std::vector<float> output = look_up(input);
    EXPECT_THAT(output, ElementsAre(3, 30, 1, 10, 0, 0, 0, 0, 2, 20, 0, 0, 2, 20, 2, 20));
    std::vector<float> read_only(output.size(), 5);
    look_up_read_only(*table_, input.lists(), {read_only.data(), 4});
    EXPECT_EQ(read_only, output);
    plan_->discard();
  }
  Input input{{3, 1, 2, 2, 2}, FIRST_N, {}, {0, 2, 2, 3, 5}, 2}, none{{1, 2}, NONE};
  look_up(input);
  look_up(none);
  // Gradients of places after the end of a list have no effect.
  std::vector<float> back = {1, 2, 3, 4, 9, 9, 9, 9, 5, 6, 9, 9, 7, 8, 10, 20};
  const float of_none[] = {100, 200, 300, 400};
  plan_->set_gradient(0, back.data(), 4);
  plan_->set_gradient(1, of_none, 2);
  EXPECT_TRUE(plan_->gradients_are_finite());
  apply(2);
  EXPECT_THAT(row(1), ElementsAre(1 - 103, 10 - 204));
  EXPECT_THAT(row(2), ElementsAre(2 - 322, 20 - 434));
  EXPECT_THAT(row(3), ElementsAre(3 - 1, 30 - 2));
}

TEST_F(StepPlanTest, FirstRowsOfOneIdEachAreCopies) {
  Input first{{1, 2, 1}, FIRST_N, {}, {0, 1, 2, 3}, 1}, sum{{1, 2, 1}, SUM, {}, {0, 1, 2, 3}};
  EXPECT_TRUE(first.lists().copies());
  EXPECT_EQ(look_up(first), look_up(sum));
  const float gradient[] = {1, 2, 3, 4, 5, 6};
  plan_->set_gradient(0, gradient, 2);
  apply();
  EXPECT_THAT(row(1), ElementsAre(-6, -8));
  first.first_n = 2;
  EXPECT_FALSE(first.lists().copies());
}

TEST_F(StepPlanTest, SeesSumsThatOverflow) {
  for (const Pooling pooling : {NONE, SUM}) {
    Input input{{1, 1, 2}, pooling};
    if (pooling == SUM) input = {{1, 3, 1, 2}, SUM, {}, {0, 2, 4}};
    look_up(input);
    const float large[] = {3e38f, 0, 3e38f, 0, 1, 1};
    plan_->set_gradient(0, large, 2);
    EXPECT_FALSE(plan_->gradients_are_finite());
    const float opposite[] = {3e38f, 0, -3e38f, 0, 1, 1};
    plan_->set_gradient(0, opposite, 2);
    EXPECT_TRUE(plan_->gradients_are_finite());
    const float small[] = {1, 2, 3, 4, 5, 6};
    plan_->set_gradient(0, small, 2);
    EXPECT_TRUE(plan_->gradients_are_finite());
    plan_->discard();
  }
}

TEST_F(StepPlanTest, SeesEveryNumberThatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<Input> inputs = {
      {{1, 1, 2, 4}, NONE},
      {{1, 1, 2, 4}, SUM, {}, {0, 1, 2, 3, 4}},   // lists of one id
      {{1, 1, 2, 4}, MEAN, {}, {0, 0, 3, 3, 4}},  // empty lists, which give no row a gradient
      {{1, 1, 2, 4}, SUM, {0, 1, 2, 3}, {0, 1, 2, 3, 4}},
      {{1, 1, 2}, FIRST_N, {}, {0, 2, 3}, 2},
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input input = inputs[i];
    look_up(input);
    std::vector<float> gradient(8, 1);
    const int64_t width = 2 * input.first_n;
    plan_->set_gradient(0, gradient.data(), width);
    EXPECT_TRUE(plan_->gradients_are_finite());
    for (float& place : gradient) {
      for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
        place = value;
        plan_->set_gradient(0, gradient.data(), width);  // invalidates the sums
        EXPECT_FALSE(plan_->gradients_are_finite()) << "input " << i;
      }
      place = 1;
    }
    plan_->discard();
  }
}

TEST_F(StepPlanTest, RowsWithoutGradientStayAfterALookAtTheOthers) {
  Input first{{1, 2}, NONE}, second{{2, 3}, NONE};
  look_up(first);
  look_up(second);
  const float gradient[] = {1, 1, 1, 1};
  plan_->set_gradient(1, gradient, 2);
  EXPECT_TRUE(plan_->gradients_are_finite());
  apply();
  EXPECT_THAT(row(1), ElementsAre(0, 0));
  EXPECT_THAT(row(2), ElementsAre(-1, -1));
  EXPECT_EQ(frequency(1), 1);
  EXPECT_EQ(frequency(2), 2);
}

TEST_F(StepPlanTest, SeesWhatComesBackToIdsWithoutRows) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = 2;
  options.admission.mutable_read_only();
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  Input input{{1, 2}, NONE};
  std::vector<float> output(4);
  ASSERT_OK(plan.look_up(input.lists(), {output.data(), 2}));
  const float gradient[] = {1, 2, 3, std::nanf("")};
  plan.set_gradient(0, gradient, 2);
  EXPECT_FALSE(plan.gradients_are_finite());
  plan.discard();
}

// Returns the digest after 20 steps of two lookups each. `looks`: checks gradients between lookups
// and gradients, which must not change results.
absl::uint128 digest_after_steps(int64_t dim, bool weighted, bool looks) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = dim;
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  std::mt19937 random(weighted);
  const auto look = [&] { EXPECT_TRUE(!looks || plan.gradients_are_finite()); };
  std::vector<float> output(60 * dim);
  for (int64_t step = 1; step <= 20; ++step) {
    Input first{{}, NONE}, second{{}, weighted ? MEAN : SUM};
    for (int i = 0; i < 60; ++i) first.ids.push_back(static_cast<int64_t>(random() % 40));
    for (int i = 0; i < 50; ++i) second.ids.push_back(static_cast<int64_t>(random() % 40));
    second.offsets = {0, 7, 7, 30, 50};
    std::vector<float> gradient1(60 * dim), gradient2(4 * dim);
    for (float& x : gradient1) x = static_cast<float>(random() % 1000) / 7;
    for (float& x : gradient2) x = static_cast<float>(random() % 1000) / 7;
    EXPECT_OK(plan.look_up(first.lists(), {output.data(), dim}));
    plan.set_gradient(0, gradient1.data(), dim);
    look();
    EXPECT_OK(plan.look_up(second.lists(), {output.data(), dim}));
    look();
    if (step % 4 != 0) plan.set_gradient(1, gradient2.data(), dim);
    look();
    EXPECT_GT(looks ? plan.squared_norm() : 1, 0);
    UpdateContext context;
    context.learning_rate = 0.01;
    plan.apply(SparseSgdOptimizer(), context, step);
  }
  return table->content().digest();
}

TEST_F(StepPlanTest, ApplyTakesTheSameSumsWhetherTheyWereLookedAtOrNot) {
  for (const int64_t dim : {1, 2, 16, 37, 64, 100}) {
    for (const bool weighted : {false, true}) {
      EXPECT_EQ(digest_after_steps(dim, weighted, true), digest_after_steps(dim, weighted, false))
          << dim;
    }
  }
}

// Returns the digest after 30 steps with repeated ids on a table with rows of this type.
absl::uint128 trained_digest(RowType type, InstructionSet set, int64_t dim) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = dim;
  options.type = type;
  options.instruction_set = set;
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  std::mt19937 random(3);
  for (int64_t step = 1; step <= 30; ++step) {
    Input input{{}, step % 2 == 0 ? MEAN : SUM};
    for (int i = 0; i < 100; ++i) input.ids.push_back(static_cast<int64_t>(random() % 60));
    input.offsets = {0, 10, 11, 50, 50, 100};
    std::vector<float> output(5 * dim), gradient(5 * dim);
    EXPECT_OK(plan.look_up(input.lists(), {output.data(), dim}));
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = output[i] + static_cast<float>(random() % 1000) / 1000;
    }
    plan.set_gradient(0, gradient.data(), dim);
    UpdateContext context;
    context.learning_rate = 0.01;
    plan.apply(SparseSgdOptimizer(), context, step);
  }
  return table->content().digest();
}

TEST(StepPlanTypesTest, EveryInstructionSetGivesTheSameTables) {
  for (const RowType type : {RowType::kFloat32, RowType::kFloat16, RowType::kBfloat16}) {
    for (const int64_t dim : {1, 5, 16, 40, 64, 130}) {
      const absl::uint128 expected = trained_digest(type, InstructionSet::kBaseline, dim);
      for (const InstructionSet set : kInstructionSets) {
        if (!has_instruction_set(set)) continue;
        EXPECT_EQ(trained_digest(type, set, dim), expected) << name_of(set) << ", dim " << dim;
      }
    }
  }
}

TEST(StepPlanTypesTest, SmallUpdatesOf16BitRowsCountOnAverage) {
  // Each update is a hundredth of the type's resolution, so rounding to nearest would never change
  // the rows.
  for (const RowType type : {RowType::kFloat16, RowType::kBfloat16}) {
    EmbeddingTableOptions options;
    options.name = "t";
    options.dim = 2000;
    options.type = type;
    options.initializer.mutable_constant()->set_value(1);
    std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
    StepPlan plan(*table);
    const float unit = type == RowType::kFloat16 ? 0x1p-10f : 0x1p-7f;
    std::vector<float> output(2000);
    const std::vector<float> gradient(2000, -unit);
    Input input{{7}};
    for (int64_t step = 1; step <= 200; ++step) {
      ASSERT_OK(plan.look_up(input.lists(), {output.data(), 2000}));
      plan.set_gradient(0, gradient.data(), 2000);
      UpdateContext context;
      context.learning_rate = 0.01;
      plan.apply(SparseSgdOptimizer(), context, step);
    }
    std::vector<float> weights(2000);
    table->content().rows().read_weights(0, absl::MakeSpan(weights));
    double mean = 0;
    for (const float weight : weights) mean += weight / 2000;
    // The mean change is two units. The number of units of a column has a standard deviation below
    // 1.5.
    EXPECT_NEAR((mean - 1) / unit, 2, 4 * 1.5 / std::sqrt(2000.0));
  }
}

TEST(StepPlanThreadsTest, ReadersSeeWholeRowsWhileTrainingInserts) {
  EmbeddingTableOptions options;
  options.name = "t";
  options.dim = 16;
  options.initializer.mutable_constant()->set_value(0);
  std::unique_ptr<EmbeddingTable> table = *EmbeddingTable::create(options);
  StepPlan plan(*table);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      std::vector<float> output(64 * 16);
      int64_t round = t;
      do {
        Input input{{}, NONE};
        for (int64_t i = 0; i < 64; ++i) input.ids.push_back((round * 37 + i * 11) % 30000);
        look_up_read_only(*table, input.lists(), {output.data(), 16});
        // All columns of a row have the same updates.
        for (int64_t i = 0; i < 64; ++i) {
          for (int c = 1; c < 16; ++c) ASSERT_EQ(output[16 * i + c], output[16 * i]);
        }
        round += 4;
      } while (!done.load());
    });
  }
  std::vector<float> output(200 * 16);
  const std::vector<float> gradient(200 * 16, 1);
  for (int64_t step = 1; step <= 300; ++step) {
    Input input{{}, NONE};
    for (int64_t i = 0; i < 200; ++i) input.ids.push_back((step * 100 + i * 3) % 30000);
    ASSERT_OK(plan.look_up(input.lists(), {output.data(), 16}));
    plan.set_gradient(0, gradient.data(), 16);
    if (step % 5 == 0) {
      plan.discard();
      continue;
    }
    UpdateContext context;
    context.learning_rate = 1;
    plan.apply(SparseSgdOptimizer(), context, step);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(table->maintenance().statistics().rows, 5000);
}

}  // namespace
}  // namespace millrace
