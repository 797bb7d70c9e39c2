// Sharded tables compared with tables of one rank, bitwise.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/collection_ranks_testing.h"
#include "embedding/embedding_collection.h"
#include "embedding/table/step_plan.h"
#include "optim/rows/row_optimizer_registry.h"

namespace millrace::ranks_testing {
namespace {

JobOptions options_of(const EmbeddingCollectionOptions& collection,
                      const SparseOptimizerConfig& optimizer) {
  return {collection, optimizer, first_rows(collection)};
}

// ---- One rank with requests, compared with one rank without ----

class OneRankTest : public testing::TestWithParam<int> {};

// The parameter selects one of all optimizers, and sums or means of duplicate gradients.
TEST_P(OneRankTest, EqualsThePathWithoutRanks) {
  SparseOptimizerConfig optimizer = all_optimizers()[GetParam() / 2];
  if (GetParam() % 2 == 1) optimizer.set_duplicate_gradients(SparseOptimizerConfig::MEAN);
  EmbeddingCollectionOptions collection = all_kinds();
  collection.threads = 1 + GetParam() % 2;
  const JobOptions options = options_of(collection, optimizer);
  Job expected(options, 0), job(options, 1);
  RandomBatches random(collection, GetParam());
  int refused = 0, full = 0, applied = 0;
  for (int step = 0; step < 40; ++step) {
    const std::string where = absl::StrCat("step ", step);
    std::vector<RankBatches> batches = {random.some(static_cast<int>(random.below(4)))};
    if (step % 5 == 3) random.poison(batches[0]);
    const int tries = 1 + static_cast<int>(random.below(2));
    const StepResult fused = expected.step(batches, tries), ranked = job.step(batches, tries);
    if (fused.status.ok() || absl::IsCancelled(fused.status)) {
      expect_same(ranked.outputs[0], fused.outputs[0]);
      EXPECT_EQ(ranked.summary.finite, fused.summary.finite) << where;
      EXPECT_EQ(ranked.summary.norm_squared, fused.summary.norm_squared) << where;
      EXPECT_EQ(ranked.summary.not_finite, fused.summary.not_finite) << where;
    }
    // A FAIL limit is an error of forward() without requests and an error of the update with
    // requests. The update checks first that gradients are finite, so a non-finite step has another
    // error.
    ASSERT_EQ(ranked.status.ok(), fused.status.ok())
        << where << ": " << ranked.status << ", " << fused.status;
    applied += fused.status.ok() ? 1 : 0;
    refused += absl::IsCancelled(fused.status) ? 1 : 0;
    full += absl::IsResourceExhausted(fused.status) ? 1 : 0;
    expect_same_tables(job, expected, where);
    const std::vector<RankBatches> others = {random.some(2)};
    const StepResult seen = job.evaluate(others);
    ASSERT_OK(seen.status);
    expect_same(seen.outputs[0], expected.evaluate(others).outputs[0]);
    if (HasFailure()) return;
  }
  EXPECT_GT(applied, 15);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OneRankTest, testing::Range(0, 12));

TEST(CollectionRanksTest, LimitsThatFailDoSoBeforeTheUpdate) {
  EmbeddingCollectionOptions collection = all_kinds();
  for (TableConfig& table : collection.tables) {
    if (table.name() == "fail") table.mutable_limit()->set_max_rows(10);
  }
  for (const int world_size : {1, 2, 3}) {
    const JobOptions options = options_of(collection, all_optimizers()[0]);
    Job expected(options, 0), job(options, world_size);
    RandomBatches random(collection, 5);
    int full = 0;
    for (int step = 0; step < 20; ++step) {
      std::vector<RankBatches> batches = {random.some(2)};
      const StepResult fused = expected.step(batches);
      batches.resize(world_size);
      const StepResult ranked = job.step(batches);
      EXPECT_EQ(absl::IsResourceExhausted(ranked.status), absl::IsResourceExhausted(fused.status));
      if (absl::IsResourceExhausted(ranked.status)) {
        EXPECT_THAT(ranked.status.message(), testing::HasSubstr("table fail has"));
        ++full;
      }
      for (int t = 0; t < 9; ++t) EXPECT_EQ(job.digest(t), expected.digest(t)) << t;
      EXPECT_EQ(job.digest(11), expected.digest(11));
    }
    EXPECT_GT(full, 5);
  }
}

// ---- Several ranks ----

class SeveralRanksTest : public testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
  // Excludes limits that are enforced only with one rank.
  static EmbeddingCollectionOptions kinds() {
    EmbeddingCollectionOptions collection = all_kinds();
    for (TableConfig& table : collection.tables) {
      const auto on_full = table.limit().on_full();
      if (on_full == LimitConfig::EVICT_LRU || on_full == LimitConfig::EVICT_LFU) {
        table.clear_limit();
      }
    }
    return collection;
  }
};

TEST_P(SeveralRanksTest, OneRankWithDataEqualsOneRank) {
  for (size_t number = 0; number < all_optimizers().size(); ++number) {
    SparseOptimizerConfig optimizer = all_optimizers()[number];
    if (number % 2 == 1) optimizer.set_duplicate_gradients(SparseOptimizerConfig::MEAN);
    const JobOptions options = options_of(kinds(), optimizer);
    Job expected(options, 0), job(options, ranks());
    job.set_offset(number % 3);  // any alignment of frames
    RandomBatches random(options.collection, number + 100);
    for (int step = 0; step < 12; ++step) {
      const std::string where = absl::StrCat("optimizer ", number, ", step ", step);
      RankBatches batches = random.some(1 + static_cast<int>(random.below(3)));
      if (step % 5 == 3) random.poison(batches);
      std::vector<RankBatches> of_ranks(ranks());
      const auto rank = static_cast<size_t>(random.below(ranks()));
      of_ranks[rank] = batches;
      const StepResult fused = expected.step({batches}), ranked = job.step(of_ranks);
      ASSERT_EQ(ranked.status.ok(), fused.status.ok()) << where;
      expect_same(ranked.outputs[rank], fused.outputs[0]);
      EXPECT_EQ(ranked.summary.finite, fused.summary.finite) << where;
      EXPECT_EQ(ranked.summary.not_finite, fused.summary.not_finite) << where;
      EXPECT_NEAR(ranked.summary.norm_squared, fused.summary.norm_squared,
                  1e-12 * fused.summary.norm_squared);
      expect_same_tables(job, expected, where);
      of_ranks[rank] = random.some(2);
      const StepResult seen = job.evaluate(of_ranks);
      ASSERT_OK(seen.status);
      expect_same(seen.outputs[rank], expected.evaluate({of_ranks[rank]}).outputs[0]);
      if (HasFailure()) return;
    }
  }
}

// Sums of integer gradients have no rounding error, in any order.
TEST_P(SeveralRanksTest, EqualsOneRankWhereNothingIsRounded) {
  SparseOptimizerConfig sgd;
  sgd.mutable_sgd();
  const JobOptions options = options_of(plain_kinds(), sgd);
  Job expected(options, 0), job(options, ranks());
  RandomBatches random(options.collection, 7);
  for (int step = 0; step < 30; ++step) {
    const std::string where = absl::StrCat("step ", step);
    std::vector<RankBatches> of_ranks;
    RankBatches all;
    for (int rank = 0; rank < ranks(); ++rank) {
      of_ranks.push_back(random.some(static_cast<int>(random.below(3)), /*integers=*/true));
      all.insert(all.end(), of_ranks.back().begin(), of_ranks.back().end());
    }
    if (step % 8 == 5) random.poison(of_ranks[random.below(ranks())]);  // tensors are shared
    const StepResult fused = expected.step({all}), ranked = job.step(of_ranks, 1 + step % 2);
    ASSERT_EQ(ranked.status.ok(), fused.status.ok()) << where;
    std::vector<at::Tensor> outputs;
    for (const auto& of_rank : ranked.outputs) {
      outputs.insert(outputs.end(), of_rank.begin(), of_rank.end());
    }
    expect_same(outputs, fused.outputs[0]);
    EXPECT_EQ(ranked.summary.not_finite, fused.summary.not_finite) << where;
    EXPECT_EQ(ranked.summary.norm_squared, fused.summary.norm_squared) << where;
    expect_same_tables(job, expected, where);
    for (int rank = 0; rank < ranks(); ++rank) {
      for (size_t t = 0; t < options.collection.tables.size(); ++t) {
        const TableRows rows = job.table(rank, static_cast<int>(t)).content().export_rows();
        for (const int64_t id : rows.ids) EXPECT_EQ(Placement::owner(id, ranks()), rank);
      }
    }
    if (HasFailure()) return;
  }
}

// Ids, counts and admission do not depend on the number of ranks, for any gradients.
TEST_P(SeveralRanksTest, CountsEqualThoseOfOneRank) {
  const JobOptions options = options_of(kinds(), all_optimizers()[3]);
  Job expected(options, 0), job(options, ranks());
  RandomBatches random(options.collection, 8);
  for (int step = 0; step < 20; ++step) {
    std::vector<RankBatches> of_ranks;
    RankBatches all;
    for (int rank = 0; rank < ranks(); ++rank) {
      of_ranks.push_back(random.some(static_cast<int>(random.below(3))));
      all.insert(all.end(), of_ranks.back().begin(), of_ranks.back().end());
    }
    const StepResult fused = expected.step({all}), ranked = job.step(of_ranks);
    ASSERT_EQ(ranked.status.ok(), fused.status.ok());
    for (size_t t = 0; t < options.collection.tables.size(); ++t) {
      const auto number = static_cast<int>(t);
      const TableRows one = expected.table(0, number).content().export_rows();
      // Ranges of placement hashes are in the order of ranks.
      TableRows rows;
      for (int rank = 0; rank < ranks(); ++rank) {
        const TableRows own = job.table(rank, number).content().export_rows();
        rows.ids.insert(rows.ids.end(), own.ids.begin(), own.ids.end());
        rows.frequency.insert(rows.frequency.end(), own.frequency.begin(), own.frequency.end());
        rows.last_step.insert(rows.last_step.end(), own.last_step.begin(), own.last_step.end());
      }
      EXPECT_EQ(rows.ids, one.ids) << t;
      EXPECT_EQ(rows.frequency, one.frequency) << t;
      EXPECT_EQ(rows.last_step, one.last_step) << t;
    }
    if (HasFailure()) return;
  }
}

// A reference with one table, in which the gradient of an id is the sum of one summand per rank:
// the rank's own sum.
class PartialSumsReference {
 public:
  PartialSumsReference(const JobOptions& options, int table)
      : options_(options), number_(table), optimizer_(*create_row_optimizer(options.optimizer)) {
    const TableConfig& config = options.collection.tables[table];
    table_ = *EmbeddingTable::create(
        EmbeddingTableOptions::from_config(config, options.collection.seed));
    EXPECT_OK(table_->bind(optimizer_->slots(config.dim())));
    plan_ = std::make_unique<StepPlan>(*table_);
    plan_->set_mean_gradients(options.optimizer.duplicate_gradients() ==
                              SparseOptimizerConfig::MEAN);
  }

  void step(const std::vector<RankBatches>& batches, int64_t number) {
    const int64_t dim = table_->dim();
    std::vector<std::vector<float>> gradients;
    for (const RankBatches& of_rank : batches) {
      std::vector<int64_t> ids, repeats;
      gradients.emplace_back();
      sums(of_rank, ids, repeats, gradients.back());
      look_up(ids);
      plan_->set_gradient(plan_->lookups() - 1, gradients.back().data(), dim);
      look_up(repeats);
    }
    UpdateContext context;
    context.learning_rate = 0.125;
    context.step = number;
    context.gradient_scale = 0.5;
    plan_->apply(*optimizer_, context, number);
  }
  absl::uint128 digest() const { return table_->content().digest(); }

 private:
  void look_up(const std::vector<int64_t>& ids) {
    const std::vector<int64_t> offsets = {0, static_cast<int64_t>(ids.size())};
    IdLists lists;
    lists.ids = ids;
    lists.offsets = offsets;
    lists.pooling = NONE;
    std::vector<float> output(ids.size() * table_->dim());
    EXPECT_OK(plan_->look_up(lists, {output.data(), table_->dim()}));
  }

  // SGD with rate 1 sets a row of zeros to minus the sum of its gradients.
  void sums(const RankBatches& batches, std::vector<int64_t>& ids, std::vector<int64_t>& repeats,
            std::vector<float>& gradients) const {
    JobOptions options = options_;
    options.optimizer.Clear();
    options.optimizer.mutable_sgd();
    options.rows.clear();
    for (TableConfig& table : options.collection.tables) {
      table.mutable_initializer()->mutable_constant()->set_value(0);
    }
    Job job(options, 0);
    std::vector<std::vector<at::Tensor>> outputs;
    EXPECT_OK(job.look_up({batches}, outputs));
    std::unique_ptr<RowOptimizer> sgd = *create_row_optimizer(options.optimizer);
    TableUpdate update;
    update.optimizer = sgd.get();
    update.context.learning_rate = 1;
    EXPECT_OK(job.collection(0).apply(
        1, std::vector<TableUpdate>(options.collection.tables.size(), update)));
    const TableRows rows = job.table(0, number_).content().export_rows();
    ids = rows.ids;
    for (size_t i = 0; i < ids.size(); ++i) {
      repeats.insert(repeats.end(), rows.frequency[i] - 1, ids[i]);
    }
    for (const float weight : rows.weights) gradients.push_back(-weight);
  }

  const JobOptions options_;
  const int number_;
  std::unique_ptr<RowOptimizer> optimizer_;
  std::unique_ptr<EmbeddingTable> table_;
  std::unique_ptr<StepPlan> plan_;
};

TEST_P(SeveralRanksTest, EqualsOneTableThatIsFedThePartialSumsOfRanks) {
  EmbeddingCollectionOptions collection;
  collection.tables = {all_kinds().tables[0], all_kinds().tables[1]};
  collection.tables[1].set_row_dtype(FLOAT32);
  collection.features = {{"a", "always", SUM},      {"b", "half", MEAN},   {"c", "always", NONE, 3},
                         {"d", "half", FIRST_N, 2}, {"e", "always", MEAN}, {"f", "half", NONE}};
  for (int number = 0; number < 12; ++number) {
    SparseOptimizerConfig optimizer = all_optimizers()[number / 2];
    if (number % 2 == 1) optimizer.set_duplicate_gradients(SparseOptimizerConfig::MEAN);
    const JobOptions options{collection, optimizer, {}};
    Job job(options, ranks());
    PartialSumsReference first(options, 0), second(options, 1);
    RandomBatches random(collection, number + 200);
    for (int step = 1; step <= 8; ++step) {
      std::vector<RankBatches> of_ranks;
      for (int rank = 0; rank < ranks(); ++rank) {
        of_ranks.push_back(random.some(static_cast<int>(random.below(4)), /*integers=*/false,
                                       /*all_gradients=*/true));
      }
      ASSERT_OK(job.step(of_ranks).status);
      first.step(of_ranks, step);
      second.step(of_ranks, step);
      ASSERT_EQ(job.digest(0), first.digest()) << "optimizer " << number << ", step " << step;
      ASSERT_EQ(job.digest(1), second.digest()) << "optimizer " << number << ", step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SeveralRanksTest, testing::Values(2, 3, 4));

}  // namespace
}  // namespace millrace::ranks_testing
