// Tests options of tables and of their optimizers in training by 1 to 4 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "embedding/collection_ranks_testing.h"
#include "embedding/embedding_collection.h"
#include "embedding/policies/eviction.h"
#include "hooks/evict_rows_hook.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

// Returns a job whose gradients do not cancel, at a rate that leaves the model far from saturation.
// Ranks have unequal shares of a step.
TableRun one_sided_run(const SparseOptimizerConfig& optimizer) {
  TableRun run;
  run.options.train.batches = 20;
  run.options.train.batch_size = 23;
  run.options.sparse_optimizer = optimizer;
  run.options.sparse_optimizer->set_learning_rate(optimizer.has_sgd() ? 1 : 0.02);
  run.prepare = [](Trainer& trainer, int) {
    make_one_sided(trainer);
    return absl::OkStatus();
  };
  return run;
}

SparseOptimizerConfig adam() {
  SparseOptimizerConfig config;
  config.mutable_adam();
  return config;
}

// ---- Optimizers ----

class TableOptimizersTest : public testing::TestWithParam<int> {};

TEST_P(TableOptimizersTest, WeightsAndSlotsAreThoseOfOneRank) {
  SparseOptimizerConfig optimizer = ranks_testing::all_optimizers()[GetParam()];
  for (const auto duplicates : {SparseOptimizerConfig::SUM, SparseOptimizerConfig::MEAN}) {
    optimizer.set_duplicate_gradients(duplicates);
    SCOPED_TRACE(optimizer.ShortDebugString());
    const TableRun run = one_sided_run(optimizer);
    const TablesOutcome one = expect_same_over_ranks(run);
    for (const auto& [id, row] : one.tables.at("items").rows) {
      EXPECT_EQ(row.slots.empty(), optimizer.has_sgd());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TableOptimizersTest,
                         testing::Range(0,
                                        static_cast<int>(ranks_testing::all_optimizers().size())));

// The slots count the updates of each row, and weights decay.
TEST(TableOptimizerOptionsTest, WeightsAndSlotsAreThoseOfOneRank) {
  SparseOptimizerConfig counted, decayed, ftrl;
  counted.mutable_adam()->set_step_count(SparseAdam::ROW);
  decayed.mutable_adamw()->set_weight_decay(0.1);
  ftrl.mutable_ftrl()->set_l1(0.001);
  ftrl.mutable_ftrl()->set_l2(0.1);
  for (const SparseOptimizerConfig& optimizer : {counted, decayed, ftrl}) {
    SCOPED_TRACE(optimizer.ShortDebugString());
    expect_same_over_ranks(one_sided_run(optimizer));
  }
}

// Makes the gradients of both labels nearly cancel where an id has as many examples of either.
void make_cancelling(Trainer& trainer) {
  auto& model = static_cast<TinyModel&>(trainer.model());
  auto signs = std::make_shared<at::Tensor>();  // [batch, 1]
  model.on_forward = [signs](const Batch& batch) {
    *signs = 1.98 * batch.labels.slice(1, 0, 1) - 0.98;
    return absl::OkStatus();
  };
  model.on_output = [signs](ModelOutput& output) {
    output.loss = -(*signs * output.predictions.log()).sum();
  };
}

// The limit is that of docs/distributed.md.
TEST(TableOptimizerOptionsTest, NearlyCancellingGradientsDifferAsDocumented) {
  for (const SparseOptimizerConfig& optimizer : ranks_testing::all_optimizers()) {
    TableRun run = one_sided_run(optimizer);
    run.prepare = [](Trainer& trainer, int) {
      make_cancelling(trainer);
      return absl::OkStatus();
    };
    const TablesOutcome one = train_tables(run, 1);
    double largest = 0;  // of a row, relative to its norm
    for (const int world_size : {2, 3, 4}) {
      const TablesOutcome many = train_tables(run, world_size);
      for (const auto& [id, row] : one.tables.at("items").rows) {
        const RankedRow& other = many.tables.at("items").rows.at(id);
        double difference = 0, norm = 0;
        for (size_t i = 0; i < row.weights.size(); ++i) {
          difference += std::pow(row.weights[i] - other.weights[i], 2);
          norm += std::pow(row.weights[i], 2);
        }
        largest = std::max(largest, std::sqrt(difference / norm));
      }
    }
    SCOPED_TRACE(optimizer.ShortDebugString());
    EXPECT_LE(largest, 1e-5);
    EXPECT_GT(largest, 0);
  }
}

// ---- Rows of 16 bits ----

class RowTypesTest : public testing::TestWithParam<RowDtype> {};

// The owner rounds the sum of all ranks. Sums that differ in their last bits can round to
// neighbouring numbers.
TEST_P(RowTypesTest, OneStepRoundsAsOneRankDoes) {
  TableRun run = one_sided_run(adam());
  run.options.train.batches = 1;
  run.options.table.set_row_dtype(GetParam());
  const double unit = GetParam() == FLOAT16 ? std::ldexp(1.0, -10) : std::ldexp(1.0, -7);
  const TablesOutcome one = train_tables(run, 1);
  for (const int world_size : {2, 3, 4}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    const TablesOutcome many = train_tables(run, world_size);
    expect_same_outcome(one, many, unit);
    int64_t numbers = 0, equal = 0;
    for (const auto& [id, row] : one.tables.at("items").rows) {
      const RankedRow& other = many.tables.at("items").rows.at(id);
      for (size_t i = 0; i < row.weights.size(); ++i) {
        ++numbers;
        if (row.weights[i] == other.weights[i]) ++equal;
        EXPECT_LE(std::abs(row.weights[i] - other.weights[i]), unit * std::abs(row.weights[i]));
      }
    }
    EXPECT_GT(equal, numbers * 99 / 100);
  }
}

TEST_P(RowTypesTest, CountsAreThoseOfOneRank) {
  TableRun run = one_sided_run(adam());
  run.options.table.set_row_dtype(GetParam());
  run.options.table.mutable_admission()->mutable_count()->set_min_count(3);
  run.options.trainer.micro_batches = 2;
  expect_same_over_ranks(run, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Types, RowTypesTest, testing::Values(FLOAT16, BFLOAT16));

// ---- Delays ----

// Delays ranks, other ranks in each run.
std::function<absl::Status(const CollectiveCall&)> delays(uint64_t run) {
  return [run](const CollectiveCall& call) {
    std::mt19937_64 random((call.ordinal * 8 + call.rank) * 1000 + run);
    for (uint64_t i = random() % 3 == 0 ? random() % 300 : 0; i > 0; --i) std::this_thread::yield();
    return absl::OkStatus();
  };
}

TEST(DelaysTest, RunsOfOneNumberOfRanksAreEqualToTheBit) {
  for (const bool evicts : {false, true}) {
    TableRun run = one_sided_run(adam());
    run.options.trainer.micro_batches = 2;
    run.options.clipping.set_max_norm(0.1);
    if (evicts) {
      run.options.table.mutable_limit()->set_max_rows(60);
      run.options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LFU);
    } else {
      run.options.table.mutable_admission()->mutable_count()->set_min_count(3);
    }
    for (const int world_size : {2, 3, 4}) {
      SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
      run.inject = nullptr;
      const TablesOutcome undisturbed = train_tables(run, world_size);
      for (uint64_t number = 0; number < 2; ++number) {
        run.inject = delays(number);
        expect_equal_outcome(undisturbed, train_tables(run, world_size));
      }
    }
  }
}

// ---- Evictions ----

int64_t evicted(const TablesOutcome& outcome, EvictionReason reason) {
  return outcome.tables.at("items").counters.counted.evicted[static_cast<size_t>(reason)];
}

class LimitsTest : public testing::TestWithParam<LimitConfig::OnFull> {};

// Ids that occur again have new slots.
TEST_P(LimitsTest, EvictRowsWithSlotsAsOneRankDoes) {
  for (const bool in_bytes : {false, true}) {
    SCOPED_TRACE(in_bytes ? "max_bytes" : "max_rows");
    TableRun run = one_sided_run(adam());
    run.options.train.batches = kTableSteps;
    LimitConfig& limit = *run.options.table.mutable_limit();
    // A row of four numbers with eight in slots costs 64 bytes, plus 64 for its place.
    in_bytes ? limit.set_max_bytes(70 * 128) : limit.set_max_rows(70);
    limit.set_on_full(GetParam());
    const TablesOutcome one = expect_same_over_ranks(run);
    EXPECT_LE(one.tables.at("items").rows.size(), 70);
    EXPECT_GT(evicted(one, EvictionReason::kLimit), 200);
    EXPECT_GT(one.tables.at("items").evicted.size(), 200);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, LimitsTest,
                         testing::Values(LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU));

TEST(EvictRowsTest, RowsGoAsOnOneRank) {
  EvictionConfig idle, rare, small, all;
  idle.set_idle_steps(3);
  rare.set_frequency_below(2.5);
  rare.set_half_life_steps(4);
  small.set_norm_below(0.08);
  all.MergeFrom(idle);
  all.MergeFrom(rare);
  all.MergeFrom(small);
  for (const EvictionConfig& rules : {idle, rare, small, all}) {
    SCOPED_TRACE(rules.ShortDebugString());
    TableRun run = one_sided_run(adam());
    run.options.train.batches = kTableSteps;
    *run.options.table.mutable_eviction() = rules;
    run.prepare = [](Trainer& trainer, int) {
      make_one_sided(trainer);
      return trainer.add_hook(
          std::make_unique<EvictRowsHook>(Cadence{.every_steps = 7}, trainer.collections()));
    };
    const TablesOutcome one = expect_same_over_ranks(run);
    EXPECT_EQ(evicted(one, EvictionReason::kIdleSteps) > 0, rules.has_idle_steps());
    EXPECT_EQ(evicted(one, EvictionReason::kInfrequent) > 0, rules.has_frequency_below());
    EXPECT_EQ(evicted(one, EvictionReason::kSmallNorm) > 0, rules.has_norm_below());
  }
}

}  // namespace
}  // namespace millrace
