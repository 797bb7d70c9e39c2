// Tests a model with a table trained on the same global batches by 1 to 4 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

// Expects the same outcome for 1 to 4 ranks, and for two runs of each number.
void expect_same(const TinyTrainerOptions& options, double tolerance = 1e-5) {
  const TableRun run = {.options = options};
  const TablesOutcome one = train_tables(run, 1);
  for (const int world_size : {2, 3, 4}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    const TablesOutcome many = train_tables(run, world_size);
    expect_same_outcome(one, many, tolerance);
    expect_equal_outcome(many, train_tables(run, world_size));
  }
}

int64_t rows_of(const Trainer& trainer) {
  return trainer.collections()[0]->tables()[0]->maintenance().statistics().rows;
}

TEST(TablesTest, Sgd) { expect_same(tiny_table_options()); }

TEST(TablesTest, RowwiseAdagrad) {
  TinyTrainerOptions options = tiny_table_options();
  options.sparse_optimizer.emplace().set_learning_rate(0.1);
  options.sparse_optimizer->mutable_rowwise_adagrad();
  expect_same(options);
}

TEST(TablesTest, MicroBatches) {
  TinyTrainerOptions options = tiny_table_options();
  options.train.batches = 3 * kTableSteps;
  options.trainer.micro_batches = 3;
  expect_same(options);
}

TEST(TablesTest, ClippingByTheNormOfAllGradients) {
  TinyTrainerOptions options = tiny_table_options();
  options.clipping.set_max_norm(0.05);
  expect_same(options);
  options.clipping.set_over(ClippingConfig::EACH);
  expect_same(options);
}

TEST(TablesTest, MeanOfDuplicateGradients) {
  TinyTrainerOptions options = tiny_table_options();
  options.sparse_optimizer.emplace().set_learning_rate(0.5);
  options.sparse_optimizer->mutable_sgd();
  options.sparse_optimizer->set_duplicate_gradients(SparseOptimizerConfig::MEAN);
  expect_same(options);
}

TEST(TablesTest, AdmissionByCount) {
  TinyTrainerOptions options = tiny_table_options();
  options.table.mutable_admission()->mutable_count()->set_min_count(12);
  expect_same(options);
}

TEST(TablesTest, ALimitThatRejects) {
  TinyTrainerOptions options = tiny_table_options();
  options.table.mutable_limit()->set_max_rows(60);
  options.table.mutable_limit()->set_on_full(LimitConfig::REJECT);
  expect_same(options);
}

TEST(TablesTest, ALimitThatEvicts) {
  TinyTrainerOptions options = tiny_table_options();
  options.table.mutable_limit()->set_max_rows(60);
  for (const auto policy : {LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU}) {
    options.table.mutable_limit()->set_on_full(policy);
    expect_same(options);
  }
}

TEST(TablesTest, AStepThatIsRepeatedReadsTheSameRows) {
  TinyTrainerOptions options = tiny_table_options();
  options.trainer.precision.set_compute(PrecisionConfig::FLOAT16);
  // The first steps overflow, until the scale is low enough. Each rank rounds its own sums to 16
  // bits.
  options.trainer.precision.mutable_loss_scale()->set_initial(std::ldexp(1.0, 24));
  expect_same(options, 1e-2);
}

// A rank without data sums the gradients of its rows again, too.
TEST(TablesTest, AStepThatIsRepeatedOnARankWithoutData) {
  TinyTrainerOptions options = tiny_table_options();
  options.train.batch_size = 2;  // 3 and 4 ranks: some have none
  options.trainer.precision.set_compute(PrecisionConfig::FLOAT16);
  options.trainer.precision.mutable_loss_scale()->set_initial(std::ldexp(1.0, 24));
  expect_same(options, 1e-2);
}

// Tests the phase that a rank reports to the others in each exchange of tables, and in the sums
// that choose rows to evict.
TEST(TablesTest, RanksReportWhatTheyDo) {
  TableRun run;
  run.options.table.mutable_limit()->set_max_rows(60);
  run.options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  constexpr int kRanks = 2;
  std::vector<std::map<std::pair<Channel, RankPhase>, int64_t>> calls(kRanks);
  run.inject = [&](const CollectiveCall& call) {
    ++calls[call.rank][{call.channel, call.phase}];
    return absl::OkStatus();
  };
  const auto statuses = run_table_ranks(
      run, kRanks, [](Trainer& trainer, int) { return trainer.train_and_evaluate().status(); });
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK(statuses[rank]);
    std::map<RankPhase, int64_t> of_tables;
    for (const auto& [call, count] : calls[rank]) {
      if (call.first == Channel::kTables) of_tables[call.second] += count;
    }
    EXPECT_EQ(of_tables[RankPhase::kLookup], 2 * kTableSteps);
    EXPECT_EQ(of_tables[RankPhase::kCommit], kTableSteps);
    EXPECT_EQ(of_tables[RankPhase::kEvaluation], 2 * run.options.eval.batches);
    EXPECT_EQ(of_tables.size(), 3);
    EXPECT_GT((calls[rank][{Channel::kControl, RankPhase::kUpdate}]), kTableSteps);
  }
}

// Hooks of after_step see tables with as many rows as the limit allows, over all ranks.
TEST(TablesTest, LimitsHoldInAfterStep) {
  constexpr int64_t kLimit = 60;
  TableRun run;
  run.options.table.mutable_limit()->set_max_rows(kLimit);
  run.options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  constexpr int kRanks = 3;
  std::vector<std::vector<int64_t>> rows(kRanks);  // after each step
  run.prepare = [&](Trainer& trainer, int rank) {
    return watch_events(trainer, [&, rank](HookContext&, absl::string_view event) {
      if (event == "after_step") rows[rank].push_back(rows_of(trainer));
      return absl::OkStatus();
    });
  };
  const auto statuses =
      run_table_ranks(run, kRanks, [](Trainer& trainer, int) { return trainer.train().status(); });
  for (const absl::Status& status : statuses) ASSERT_OK(status);
  int64_t most = 0;
  for (int64_t step = 0; step < kTableSteps; ++step) {
    int64_t all = 0;
    for (int rank = 0; rank < kRanks; ++rank) all += rows[rank].at(step);
    EXPECT_LE(all, kLimit) << "step " << step;
    most = std::max(most, all);
  }
  EXPECT_GT(most, kLimit / 2);
}

TEST(TablesTest, ARankThatCannotNumberItsRowsEndsAllBeforeTheStep) {
  constexpr int64_t kMost = 40;
  TableRun run;
  run.prepare = [](Trainer& trainer, int rank) {
    if (rank == 1) trainer.collections()[0]->tables()[0]->set_max_own_rows(kMost);
    return absl::OkStatus();
  };
  std::vector<int64_t> steps(2);
  const auto statuses = run_table_ranks(run, 2, [&](Trainer& trainer, int rank) {
    const absl::Status status = trainer.train().status();
    steps[rank] = trainer.progress().step;
    if (rank == 1) {
      EXPECT_LE(rows_of(trainer), kMost);
    }
    return status;
  });
  constexpr char kMessage[] = "more there, but a rank holds at most 40 rows of a table";
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kAborted,
                                    testing::AllOf(testing::HasSubstr("rank 1 failed"),
                                                   testing::HasSubstr(kMessage))));
  EXPECT_THAT(statuses[1],
              StatusIs(absl::StatusCode::kResourceExhausted, testing::HasSubstr(kMessage)));
  EXPECT_EQ(steps[0], steps[1]);
}

TEST(TablesTest, ARankWithoutDataTakesPart) {
  TinyTrainerOptions options = tiny_table_options();
  options.train.batch_size = 2;  // 3 and 4 ranks: some have none
  expect_same(options);
}

TEST(TablesTest, ALimitThatFailsEndsAllRanksBeforeAnUpdate) {
  TableRun run;
  run.options.table.mutable_limit()->set_max_rows(60);
  run.options.table.mutable_limit()->set_on_full(LimitConfig::FAIL);
  for (const int world_size : {2, 3}) {
    std::vector<int64_t> rows(world_size);
    const auto statuses = run_table_ranks(run, world_size, [&](Trainer& trainer, int rank) {
      const absl::Status status = trainer.train().status();
      rows[rank] = rows_of(trainer);
      return status;
    });
    int64_t all = 0;
    for (int rank = 0; rank < world_size; ++rank) {
      EXPECT_THAT(statuses[rank],
                  StatusIs(absl::StatusCode::kResourceExhausted, testing::HasSubstr("items")));
      all += rows[rank];
    }
    EXPECT_LE(all, 60);
  }
}

}  // namespace
}  // namespace millrace
