#include "optim/sparse_optimizer.h"

#include <torch/types.h>

#include <cmath>

#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Tables "own" (its optimizer is SGD at rate 0.5) and "plain", two columns of zeros, a feature
// each.
EmbeddingCollectionOptions make_options() {
  EmbeddingCollectionOptions options;
  for (const char* name : {"own", "plain"}) {
    TableConfig table;
    table.set_name(name);
    table.set_dim(2);
    table.mutable_initializer()->mutable_constant()->set_value(0);
    options.tables.push_back(table);
    options.features.push_back({name, name, SUM});
  }
  options.tables[0].mutable_optimizer()->mutable_sgd();
  options.tables[0].mutable_optimizer()->set_learning_rate(0.5);
  return options;
}

SparseOptimizerConfig adagrad_config() {
  SparseOptimizerConfig config;
  config.set_learning_rate(0.25);
  config.mutable_adagrad()->set_epsilon(1e-300);
  return config;
}

// One example with id 7 in both features.
const KeyedJagged& features() {
  static const auto* features = new KeyedJagged{
      torch::tensor({7, 7}, torch::kLong), torch::tensor({0, 1, 2}, torch::kLong), {}};
  return *features;
}

class SparseOptimizerTest : public testing::Test {
 protected:
  std::shared_ptr<EmbeddingCollection> make() {
    return *EmbeddingCollection::create(make_options());
  }
  static void backward(EmbeddingCollection& collection, float gradient) {
    absl::StatusOr<EmbeddingOutput> output = collection.forward(features());
    ASSERT_OK(output);
    output->pooled.backward(torch::full({1, 4}, gradient));
  }
  static std::vector<float> weights(const EmbeddingCollection& collection, int table) {
    return collection.tables()[table]->content().export_rows().weights;
  }
};

TEST_F(SparseOptimizerTest, ATablesOwnOptimizerGoesFirst) {
  auto collection = make();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {collection.get()}));
  EXPECT_EQ(optimizer->learning_rate(Progress()), 0.25);
  EXPECT_THAT(optimizer->learning_rates(Progress()),
              ElementsAre(Pair("sparse", 0.25), Pair("sparse/own", 0.5)));
  EXPECT_TRUE(collection->tables()[0]->slots().empty());
  EXPECT_EQ(collection->tables()[1]->slots().size(), 1);
  backward(*collection, 4);
  Progress progress;
  progress.step = 41;
  ASSERT_OK(optimizer->step(progress));
  EXPECT_THAT(weights(*collection, 0), ElementsAre(-2, -2));        // 0.5 × 4
  EXPECT_THAT(weights(*collection, 1), ElementsAre(-0.25, -0.25));  // 0.25 × 4 / √16
  EXPECT_THAT(collection->tables()[0]->content().export_rows().last_step, ElementsAre(42));
  EXPECT_THAT(collection->tables()[0]->content().export_rows().frequency, ElementsAre(1));
  EXPECT_EQ(collection->tables()[0]->applied_steps(), 1);
}

TEST_F(SparseOptimizerTest, FrozenTablesStayAsTheyAre) {
  EmbeddingCollectionOptions options = make_options();
  options.tables[1].set_frozen(true);
  auto collection = *EmbeddingCollection::create(options);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {collection.get()}));
  EXPECT_TRUE(collection->tables()[1]->slots().empty());
  backward(*collection, 4);
  EXPECT_EQ(optimizer->summarize(true).norm_squared, 32);  // of the other table alone
  ASSERT_OK(optimizer->step(Progress()));
  EXPECT_THAT(weights(*collection, 0), ElementsAre(-2, -2));
  EXPECT_THAT(weights(*collection, 1), ElementsAre());
  EXPECT_EQ(collection->tables()[1]->applied_steps(), 0);
}

TEST_F(SparseOptimizerTest, ScalesGradients) {
  auto collection = make();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {collection.get()}));
  backward(*collection, 4);
  EXPECT_EQ(optimizer->summarize(true).norm_squared, 64);
  ASSERT_OK(optimizer->step(Progress(), 0.5));
  EXPECT_THAT(weights(*collection, 0), ElementsAre(-1, -1));
  backward(*collection, 4);
  EXPECT_THAT(optimizer->step(Progress(), NAN), StatusIs(kInvalid));
}

TEST_F(SparseOptimizerTest, BiasCorrectionCountsTheStepsOfTheTable) {
  auto collection = make();
  SparseOptimizerConfig adam;
  adam.set_learning_rate(1);
  adam.mutable_adam()->set_epsilon(1e-300);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adam, {collection.get()}));
  // Every corrected step with a constant gradient is the rate, if t counts from 1.
  Progress progress;
  progress.step = 1000;
  for (int step = 1; step <= 3; ++step, ++progress.step) {
    backward(*collection, 3);
    ASSERT_OK(optimizer->step(progress));
    EXPECT_NEAR(weights(*collection, 1)[0], -step, 1e-5);
  }
}

TEST_F(SparseOptimizerTest, TablesFollowTheirOwnSchedule) {
  EmbeddingCollectionOptions options = make_options();
  options.tables[0].mutable_optimizer()->mutable_schedule()->mutable_step()->set_gamma(0.5);
  ScheduleConfig& own = *options.tables[0].mutable_optimizer()->mutable_schedule();
  own.set_unit(ScheduleConfig::EPOCHS);
  own.mutable_step()->mutable_length()->set_count(1);
  auto collection = *EmbeddingCollection::create(options);
  SparseOptimizerConfig config;
  config.mutable_sgd();
  config.set_learning_rate(0.25);
  config.mutable_schedule()->mutable_linear_warmup()->mutable_length()->set_count(2);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(config, {collection.get()}));
  const Progress late{.step = 1, .epoch = 2};
  EXPECT_THAT(optimizer->learning_rates(late),
              ElementsAre(Pair("sparse", 0.125), Pair("sparse/own", 0.125)));
  backward(*collection, 1);
  ASSERT_OK(optimizer->step(late));
  EXPECT_EQ(weights(*collection, 0)[0], -0.125f);
  EXPECT_EQ(weights(*collection, 1)[0], -0.125f);
  backward(*collection, 1);
  ASSERT_OK(optimizer->step({.step = 5, .epoch = 0}));
  EXPECT_EQ(weights(*collection, 0)[0], -0.625f);
  EXPECT_EQ(weights(*collection, 1)[0], -0.375f);
}

TEST_F(SparseOptimizerTest, InstructionSetsDoNotMatter) {
  std::vector<absl::uint128> digests;
  for (const InstructionSet set : kInstructionSets) {
    if (!has_instruction_set(set)) continue;
    EmbeddingCollectionOptions options = make_options();
    options.instruction_set = set;
    for (TableConfig& table : options.tables) {
      table.set_dim(35);
      table.mutable_initializer()->mutable_normal()->set_stddev(1);
    }
    auto collection = *EmbeddingCollection::create(options);
    SparseOptimizerConfig config;
    config.mutable_adamw()->set_weight_decay(0.1);
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                         SparseOptimizer::create(config, {collection.get()}));
    for (int step = 0; step < 5; ++step) {
      ASSERT_OK_AND_ASSIGN(EmbeddingOutput output, collection->forward(features()));
      output.pooled.backward(output.pooled.detach().sin());
      ASSERT_OK(optimizer->step(Progress()));
    }
    digests.push_back(collection->tables()[0]->content().digest() +
                      collection->tables()[1]->content().digest());
    EXPECT_EQ(digests.back(), digests[0]) << name_of(set);
  }
}

TEST_F(SparseOptimizerTest, DrivesSeveralCollections) {
  auto first = make(), second = make();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {first.get(), second.get()}));
  EXPECT_EQ(optimizer->collections().size(), 2);
  backward(*first, 1);
  backward(*second, 2);
  EXPECT_EQ(optimizer->summarize(true).norm_squared, 4 + 16);
  ASSERT_OK(optimizer->step(Progress()));
  EXPECT_THAT(weights(*first, 0), ElementsAre(-0.5, -0.5));
  EXPECT_THAT(weights(*second, 0), ElementsAre(-1, -1));
  backward(*first, 1);
  backward(*second, NAN);
  EXPECT_FALSE(optimizer->summarize(false).finite);
  optimizer->discard();
  EXPECT_TRUE(optimizer->summarize(false).finite);
  EXPECT_THAT(weights(*first, 0), ElementsAre(-0.5, -0.5));
}

TEST_F(SparseOptimizerTest, AnErrorInOneCollectionChangesNone) {
  auto first = make(), second = make();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {first.get(), second.get()}));
  ASSERT_OK_AND_ASSIGN(EmbeddingOutput stale, second->forward(features()));
  optimizer->discard();
  stale.pooled.sum().backward();
  backward(*first, 1);
  EXPECT_THAT(optimizer->step(Progress()), StatusIs(absl::StatusCode::kFailedPrecondition));
  optimizer->discard();
  EXPECT_EQ(first->tables()[0]->maintenance().statistics().rows, 0);
  EXPECT_EQ(first->tables()[0]->applied_steps(), 0);
}

TEST_F(SparseOptimizerTest, WithoutCollections) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<SparseOptimizer> optimizer,
                       SparseOptimizer::create(adagrad_config(), {}));
  EXPECT_OK(optimizer->step(Progress()));
  EXPECT_TRUE(optimizer->summarize(true).finite);
}

TEST_F(SparseOptimizerTest, CreateRefusesBadConfigurations) {
  auto collection = make();
  SparseOptimizerConfig config = adagrad_config();
  config.set_learning_rate(-1);
  EXPECT_THAT(SparseOptimizer::create(config, {}), StatusIs(kInvalid, HasSubstr("learning_rate")));
  config = adagrad_config();
  config.mutable_adagrad()->set_epsilon(0);
  EXPECT_THAT(SparseOptimizer::create(config, {collection.get()}),
              StatusIs(kInvalid, HasSubstr("sparse_optimizer.adagrad: epsilon is 0")));
  EmbeddingCollectionOptions options = make_options();
  options.tables[0].mutable_optimizer()->set_learning_rate(NAN);
  auto bad = *EmbeddingCollection::create(options);
  EXPECT_THAT(SparseOptimizer::create(adagrad_config(), {bad.get()}),
              StatusIs(kInvalid, HasSubstr("table own")));
  // The table already has rows without slots.
  TableRows rows;
  rows.dim = 2;
  rows.ids = {1};
  rows.weights = {1, 2};
  auto loaded = make();
  ASSERT_OK(loaded->tables()[1]->content().load_rows(rows));
  EXPECT_THAT(SparseOptimizer::create(adagrad_config(), {loaded.get()}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("table plain")));
}

}  // namespace
}  // namespace millrace
