// A model with a table trained on the same global batches by 1 to 4 ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "embedding/embedding_collection.h"
#include "embedding/rows/placement.h"
#include "framework/model.h"
#include "hooks/non_finite_guard_hook.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

constexpr int64_t kSteps = 40;

struct Row {
  std::vector<float> weights;
  int64_t frequency = 0;
  int64_t last_step = 0;
};

// What a job left, over all its ranks.
struct Outcome {
  std::map<int64_t, Row> rows;                // by id
  std::vector<std::string> dense;             // bytes of the dense parameters, by rank
  std::vector<at::Tensor> parameters;         // of rank 0
  std::map<std::string, double> metrics;      // of the evaluation at the end
  std::map<std::string, int64_t> table_rows;  // of the summary
  TableCounters counters;                     // sums
  AdmissionState admission;                   // of all ranks, in the order of ids
};

TinyTrainerOptions tiny_options() {
  TinyTrainerOptions options;
  options.train = {.batches = kSteps, .batch_size = 24, .dense = 3, .sparse = 3, .ids = 200};
  options.eval = {.batches = 3, .batch_size = 24};
  options.trainer.metrics = {"logloss", "auc"};
  return options;
}

std::string bytes_of(Model& model) {
  std::string bytes;
  for (const at::Tensor& parameter : model.parameters()) {
    bytes.append(static_cast<const char*>(parameter.const_data_ptr()), parameter.nbytes());
  }
  return bytes;
}

// Adds what this rank has to the outcome.
void collect(Model& model, const Placement& placement, Outcome& outcome) {
  const auto& table = *collections_of(model)[0]->tables()[0];
  const TableRows rows = table.content().export_rows();
  const auto dim = static_cast<size_t>(rows.dim);
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    EXPECT_TRUE(placement.owns(rows.ids[i])) << rows.ids[i];
    Row row;
    row.weights.assign(rows.weights.begin() + i * dim, rows.weights.begin() + (i + 1) * dim);
    row.frequency = rows.frequency[i];
    row.last_step = rows.last_step[i];
    EXPECT_TRUE(outcome.rows.emplace(rows.ids[i], row).second) << rows.ids[i] << " is on two ranks";
  }
  const TableCounters counters = table.content().counters();
  outcome.counters.applied_steps = counters.applied_steps;
  outcome.counters.counted.inserted += counters.counted.inserted;
  outcome.counters.counted.occurrences += counters.counted.occurrences;
  outcome.counters.counted.unique_ids += counters.counted.unique_ids;
  outcome.counters.counted.unadmitted += counters.counted.unadmitted;
  const AdmissionState admission = table.content().admission_state();
  for (size_t i = 0; i < admission.ids.size(); ++i) {
    outcome.admission.ids.push_back(admission.ids[i]);
    outcome.admission.counts.push_back(admission.counts[i]);
  }
}

// Makes rank 0 spoil the gradient of its first step, so that all ranks refuse it and skip it. After
// it no rank may have a row, and all evaluate.
absl::Status refuse_first_step(Trainer& trainer, TinyModel& model, int rank,
                               std::vector<std::string>* events) {
  // The graph has a copy of the function.
  auto calls = std::make_shared<int>(0);
  model.on_pooled_gradient = [calls, rank](at::Tensor gradient) {
    return ++*calls == 1 && rank == 0 ? gradient * INFINITY : gradient;
  };
  NonFiniteConfig skip;
  skip.set_policy(NonFiniteConfig::SKIP);
  RETURN_IF_ERROR(trainer.add_hook(std::make_unique<NonFiniteGuardHook>(skip)));
  return trainer.add_hook(std::make_unique<RecordingHook>(
      events, [&model](HookContext& context, absl::string_view event) {
        const Progress& progress = context.progress();
        if (event != "after_step" || progress.step > 0) return absl::OkStatus();
        EXPECT_EQ(progress.skipped_steps, 1);
        EXPECT_EQ(collections_of(model)[0]->tables()[0]->store().size(), 0);
        context.requests().evaluate();
        return absl::OkStatus();
      }));
}

// `refused`: whether the first step is.
Outcome train(const TinyTrainerOptions& options, int world_size, bool refused = false) {
  std::vector<std::shared_ptr<Model>> models(world_size);
  Outcome outcome;
  outcome.dense.resize(world_size);
  const auto statuses = run_thread_ranks(
      {.world_size = world_size}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        const int rank = ranks->rank();
        TinyTrainerOptions own = options;
        own.train.rank = own.eval.rank = rank;
        own.train.world_size = own.eval.world_size = world_size;
        TrainerParts parts = tiny_parts(own);
        models[rank] = parts.model;
        parts.collectives = std::move(ranks);
        ASSIGN_OR_RETURN(auto trainer, Trainer::create(own.trainer, std::move(parts)));
        std::vector<std::string> events;
        if (refused) {
          RETURN_IF_ERROR(
              refuse_first_step(*trainer, static_cast<TinyModel&>(*models[rank]), rank, &events));
        }
        ASSIGN_OR_RETURN(const Summary summary, trainer->train_and_evaluate());
        if (rank == 0) {
          outcome.metrics = summary.eval.at("eval");
          outcome.table_rows = summary.rows;
        }
        return absl::OkStatus();
      });
  for (int rank = 0; rank < world_size; ++rank) {
    EXPECT_OK(statuses[rank]) << "rank " << rank;
    if (!statuses[rank].ok()) return outcome;
  }
  // Ranks hold ascending ranges of hashes, so counts of ids are in order.
  for (int rank = 0; rank < world_size; ++rank) {
    collect(*models[rank], {rank, world_size}, outcome);
    outcome.dense[rank] = bytes_of(*models[rank]);
    EXPECT_EQ(outcome.dense[rank], outcome.dense[0]) << "rank " << rank;
  }
  for (const at::Tensor& parameter : models[0]->parameters()) {
    outcome.parameters.push_back(parameter.detach().clone());
  }
  return outcome;
}

double norm(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum);
}

// Everything that is counted equal; weights within `tolerance` of the norm of the row, and dense
// parameters and metrics in proportion.
void expect_same(const Outcome& one, const Outcome& many, double tolerance) {
  const double looser = tolerance / 1e-5;
  ASSERT_GT(one.rows.size(), 20);
  ASSERT_EQ(many.rows.size(), one.rows.size());
  for (const auto& [id, row] : one.rows) {
    ASSERT_EQ(many.rows.count(id), 1) << id;
    const Row& other = many.rows.at(id);
    EXPECT_EQ(other.frequency, row.frequency) << id;
    EXPECT_EQ(other.last_step, row.last_step) << id;
    std::vector<float> difference = row.weights;
    for (size_t i = 0; i < difference.size(); ++i) difference[i] -= other.weights[i];
    EXPECT_LE(norm(difference), tolerance * norm(row.weights)) << id;
  }
  for (size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_TRUE(at::allclose(one.parameters[i], many.parameters[i], 1e-4 * looser, 1e-6 * looser));
  }
  EXPECT_EQ(many.table_rows, one.table_rows);
  EXPECT_EQ(many.counters.applied_steps, one.counters.applied_steps);
  EXPECT_EQ(many.counters.counted.inserted, one.counters.counted.inserted);
  EXPECT_EQ(many.counters.counted.occurrences, one.counters.counted.occurrences);
  EXPECT_EQ(many.counters.counted.unique_ids, one.counters.counted.unique_ids);
  EXPECT_EQ(many.counters.counted.unadmitted, one.counters.counted.unadmitted);
  EXPECT_EQ(many.admission, one.admission);
  for (const auto& [name, value] : one.metrics) {
    EXPECT_NEAR(many.metrics.at(name), value, 1e-5 * looser) << name;
  }
}

void expect_same_over_ranks(const TinyTrainerOptions& options, double tolerance = 1e-5,
                            bool refused = false) {
  const Outcome one = train(options, 1, refused);
  for (const int world_size : {2, 3, 4}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    const Outcome many = train(options, world_size, refused);
    expect_same(one, many, tolerance);
    EXPECT_EQ(train(options, world_size, refused).dense, many.dense) << "two runs";
  }
}

TEST(TablesTest, Sgd) { expect_same_over_ranks(tiny_options()); }

TEST(TablesTest, RowwiseAdagrad) {
  TinyTrainerOptions options = tiny_options();
  options.sparse_optimizer.emplace().set_learning_rate(0.1);
  options.sparse_optimizer->mutable_rowwise_adagrad();
  expect_same_over_ranks(options);
}

TEST(TablesTest, MicroBatches) {
  TinyTrainerOptions options = tiny_options();
  options.train.batches = 3 * kSteps;
  options.trainer.micro_batches = 3;
  expect_same_over_ranks(options);
}

TEST(TablesTest, ClippingByTheNormOfAllGradients) {
  TinyTrainerOptions options = tiny_options();
  options.clipping.set_max_norm(0.05);
  expect_same_over_ranks(options);
  options.clipping.set_over(ClippingConfig::EACH);
  expect_same_over_ranks(options);
}

TEST(TablesTest, MeanOfDuplicateGradients) {
  TinyTrainerOptions options = tiny_options();
  options.sparse_optimizer.emplace().set_learning_rate(0.5);
  options.sparse_optimizer->mutable_sgd();
  options.sparse_optimizer->set_duplicate_gradients(SparseOptimizerConfig::MEAN);
  expect_same_over_ranks(options);
}

TEST(TablesTest, AdmissionByCount) {
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_admission()->mutable_count()->set_min_count(12);
  expect_same_over_ranks(options);
}

TEST(TablesTest, AFirstStepThatIsRefusedLeavesNothing) {
  TinyTrainerOptions options = tiny_options();
  expect_same_over_ranks(options, 1e-5, /*refused=*/true);
  options.table.mutable_admission()->mutable_count()->set_min_count(12);
  expect_same_over_ranks(options, 1e-5, /*refused=*/true);
}

TEST(TablesTest, ALimitThatRejects) {
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_limit()->set_max_rows(60);
  options.table.mutable_limit()->set_on_full(LimitConfig::REJECT);
  expect_same_over_ranks(options);
}

TEST(TablesTest, ALimitThatEvicts) {
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_limit()->set_max_rows(60);
  for (const auto policy : {LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU}) {
    options.table.mutable_limit()->set_on_full(policy);
    expect_same_over_ranks(options);
  }
}

TEST(TablesTest, AStepThatIsRepeatedReadsTheSameRows) {
  TinyTrainerOptions options = tiny_options();
  options.trainer.precision.set_compute(PrecisionConfig::FLOAT16);
  // The first steps overflow, until the scale is low enough. Each rank rounds its own sums to 16
  // bits.
  options.trainer.precision.mutable_loss_scale()->set_initial(std::ldexp(1.0, 24));
  expect_same_over_ranks(options, 1e-2);
}

// What an empty rank owns is added up again, too.
TEST(TablesTest, AStepThatIsRepeatedOnARankWithoutData) {
  TinyTrainerOptions options = tiny_options();
  options.train.batch_size = 2;  // 3 and 4 ranks: some have none
  options.trainer.precision.set_compute(PrecisionConfig::FLOAT16);
  options.trainer.precision.mutable_loss_scale()->set_initial(std::ldexp(1.0, 24));
  expect_same_over_ranks(options, 1e-2);
}

// What a rank reports to the others in each exchange of tables, and in the sums that choose rows to
// evict.
TEST(TablesTest, RanksReportWhatTheyDo) {
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_limit()->set_max_rows(60);
  options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  constexpr int kRanks = 2;
  std::vector<std::map<std::pair<Channel, RankPhase>, int64_t>> calls(kRanks);
  const auto inject = [&](const CollectiveCall& call) {
    ++calls[call.rank][{call.channel, call.phase}];
    return absl::OkStatus();
  };
  const auto statuses = run_thread_ranks(
      {.world_size = kRanks, .inject = inject},
      [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        TinyTrainerOptions own = options;
        own.train.rank = own.eval.rank = ranks->rank();
        own.train.world_size = own.eval.world_size = kRanks;
        TrainerParts parts = tiny_parts(own);
        parts.collectives = std::move(ranks);
        ASSIGN_OR_RETURN(auto trainer, Trainer::create(own.trainer, std::move(parts)));
        return trainer->train_and_evaluate().status();
      });
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK(statuses[rank]);
    std::map<RankPhase, int64_t> of_tables;
    for (const auto& [call, count] : calls[rank]) {
      if (call.first == Channel::kTables) of_tables[call.second] += count;
    }
    EXPECT_EQ(of_tables[RankPhase::kLookup], 2 * kSteps);
    EXPECT_EQ(of_tables[RankPhase::kCommit], kSteps);
    EXPECT_EQ(of_tables[RankPhase::kEvaluation], 2 * options.eval.batches);
    EXPECT_EQ(of_tables.size(), 3);
    EXPECT_GT((calls[rank][{Channel::kControl, RankPhase::kUpdate}]), kSteps);
  }
}

// Hooks of after_step see tables with as many rows as the limit allows, over all ranks.
TEST(TablesTest, LimitsHoldInAfterStep) {
  constexpr int64_t kLimit = 60;
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_limit()->set_max_rows(kLimit);
  options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  constexpr int kRanks = 3;
  std::vector<std::vector<int64_t>> rows(kRanks);  // after each step
  const auto statuses = run_thread_ranks(
      {.world_size = kRanks}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
        TinyTrainerOptions own = options;
        const int rank = ranks->rank();
        own.train.rank = own.eval.rank = rank;
        own.train.world_size = own.eval.world_size = kRanks;
        TrainerParts parts = tiny_parts(own);
        const auto model = parts.model;
        parts.collectives = std::move(ranks);
        ASSIGN_OR_RETURN(auto trainer, Trainer::create(own.trainer, std::move(parts)));
        std::vector<std::string> events;
        RETURN_IF_ERROR(trainer->add_hook(
            std::make_unique<RecordingHook>(&events, [&](HookContext&, absl::string_view event) {
              if (event == "after_step") {
                const auto& table = *collections_of(*model)[0]->tables()[0];
                rows[rank].push_back(table.maintenance().statistics().rows);
              }
              return absl::OkStatus();
            })));
        return trainer->train().status();
      });
  for (const absl::Status& status : statuses) ASSERT_OK(status);
  int64_t most = 0;
  for (int64_t step = 0; step < kSteps; ++step) {
    int64_t all = 0;
    for (int rank = 0; rank < kRanks; ++rank) all += rows[rank].at(step);
    EXPECT_LE(all, kLimit) << "step " << step;
    most = std::max(most, all);
  }
  EXPECT_GT(most, kLimit / 2);
}

TEST(TablesTest, ARankWithoutDataTakesPart) {
  TinyTrainerOptions options = tiny_options();
  options.train.batch_size = 2;  // 3 and 4 ranks: some have none
  expect_same_over_ranks(options);
}

TEST(TablesTest, ALimitThatFailsEndsAllRanksBeforeAnUpdate) {
  TinyTrainerOptions options = tiny_options();
  options.table.mutable_limit()->set_max_rows(60);
  options.table.mutable_limit()->set_on_full(LimitConfig::FAIL);
  for (const int world_size : {2, 3}) {
    std::vector<int64_t> rows(world_size);
    const auto statuses = run_thread_ranks(
        {.world_size = world_size}, [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
          TinyTrainerOptions own = options;
          own.train.rank = ranks->rank();
          own.train.world_size = world_size;
          TrainerParts parts = tiny_parts(own);
          const auto model = parts.model;
          const int rank = ranks->rank();
          parts.collectives = std::move(ranks);
          ASSIGN_OR_RETURN(auto trainer, Trainer::create(own.trainer, std::move(parts)));
          const absl::Status status = trainer->train().status();
          rows[rank] = collections_of(*model)[0]->tables()[0]->maintenance().statistics().rows;
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
