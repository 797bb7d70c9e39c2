// Tests registered models and train steps over 1 to 4 ranks: several collections, any number of
// lookups, every pooling, weights of ids; and the content of reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "framework/model/model_parts.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/sparse_optimizer.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

using Collections = std::vector<std::shared_ptr<EmbeddingCollection>>;

// Gradients for rows all have the same sign, so that their sums do not cancel, and differ between
// columns.
class ListsModel : public Model {
 public:
  ListsModel(int64_t dense, Collections collections) : collections_(std::move(collections)) {
    weight_ = register_parameter("weight", torch::linspace(-0.5, 0.5, dense).view({dense, 1}));
    for (size_t i = 0; i < collections_.size(); ++i) {
      register_module(absl::StrCat("tables", i), collections_[i]);
    }
  }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    at::Tensor logits = torch::mm(batch.dense, weight_);
    for (const auto& collection : collections_) {
      for (int64_t i = times ? times(batch) : 1; i > 0; --i) {
        ASSIGN_OR_RETURN(const EmbeddingOutput output, collection->forward(features_of(batch)));
        ASSIGN_OR_RETURN(const at::Tensor sums, sums_of(output));
        logits = logits + sums;
      }
    }
    ModelOutput output;
    output.loss = -torch::log_sigmoid(logits).sum();
    output.predictions = logits.sigmoid();
    return output;
  }
  absl::StatusOr<std::vector<TableLookup>> lookups(const Batch& batch) override {
    std::vector<TableLookup> lookups;
    for (const auto& collection : collections_) {
      lookups.push_back({collection.get(), features_of(batch)});
    }
    return lookups;
  }

  // Returns the number of lookups of the collections for a batch. Default: one.
  std::function<int64_t(const Batch&)> times;
  // Returns the features of a batch. Default: the features of the batch.
  std::function<KeyedJagged(const Batch&)> features;

 private:
  KeyedJagged features_of(const Batch& batch) const {
    return features ? features(batch) : batch.sparse;
  }

  // Returns float32 [rows, 1]: the weighted sum of the numbers of each row.
  static at::Tensor weighted(const at::Tensor& rows) {
    return (rows * torch::linspace(0.5, 1.5, rows.size(1))).sum(1, /*keepdim=*/true);
  }

  static absl::StatusOr<at::Tensor> sums_of(const EmbeddingOutput& output) {
    at::Tensor sums = weighted(output.pooled);
    for (const FeaturePlace& place : output.places()) {
      if (place.unpooled < 0) continue;
      ASSIGN_OR_RETURN(const JaggedRows jagged, output.jagged(place.name));
      const at::Tensor examples =
          torch::repeat_interleave(torch::arange(sums.size(0)), jagged.offsets.diff());
      sums = sums.index_add(0, examples, weighted(jagged.rows));
    }
    return sums;
  }

  at::Tensor weight_;
  const Collections collections_;  // shared with the module tree
};

TableConfig table_config(const std::string& name, int64_t dim) {
  TableConfig table;
  table.set_name(name);
  table.set_dim(dim);
  table.mutable_initializer()->mutable_uniform();
  return table;
}

std::shared_ptr<EmbeddingCollection> collection_of(std::vector<TableConfig> tables,
                                                   std::vector<EmbeddingFeature> features) {
  EmbeddingCollectionOptions options;
  options.tables = std::move(tables);
  options.features = std::move(features);
  auto collection = EmbeddingCollection::create(options);
  EXPECT_OK(collection.status());
  return *std::move(collection);
}

// Returns one table, "items", for all features of the data.
Collections one_collection() {
  return {collection_of({table_config("items", 4)},
                        {{"s0", "items"}, {"s1", "items"}, {"s2", "items"}})};
}

// Returns a job of such a model with row-wise Adagrad for tables without their own optimizer.
TableRun run_of(std::function<Collections()> collections,
                std::function<void(ListsModel&)> prepare = nullptr) {
  TableRun run;
  run.options.train.batches = 30;
  run.options.train.batch_size = 23;  // ranks have unequal shares
  run.change_parts = [=](const TinyTrainerOptions& own, TrainerParts& parts) {
    auto model = std::make_shared<ListsModel>(own.train.dense, collections());
    if (prepare) prepare(*model);
    DenseOptimizerConfig dense;
    dense.set_learning_rate(0.1);
    dense.mutable_sgd();
    auto dense_optimizers = create_dense_optimizers({dense}, parameters_of(*model));
    ASSERT_OK(dense_optimizers.status());
    SparseOptimizerConfig sparse;
    sparse.set_learning_rate(0.02);
    sparse.mutable_rowwise_adagrad();
    auto sparse_optimizer = SparseOptimizer::create(sparse, collections_of(*model));
    ASSERT_OK(sparse_optimizer.status());
    parts.dense_optimizers = *std::move(dense_optimizers);
    parts.sparse_optimizer = *std::move(sparse_optimizer);
    parts.model = std::move(model);
  };
  return run;
}

// ---- Collections ----

// The second collection has tables of several kinds, and its own optimizer.
Collections two_collections() {
  TableConfig users = table_config("users", 3), shops = table_config("shops", 5);
  TableConfig regions = table_config("regions", 2);
  users.mutable_limit()->set_max_rows(50);
  users.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  users.mutable_optimizer()->set_learning_rate(0.02);
  users.mutable_optimizer()->mutable_adam();
  users.mutable_optimizer()->set_duplicate_gradients(SparseOptimizerConfig::MEAN);
  shops.mutable_admission()->mutable_count()->set_min_count(3);
  regions.mutable_limit()->set_max_rows(80);
  regions.mutable_limit()->set_on_full(LimitConfig::REJECT);
  return {one_collection()[0],
          collection_of({users, shops, regions},
                        {{"u", "users", MEAN}, {"v", "shops"}, {"w", "regions"}})};
}

TEST(CollectionsTest, TwoEqualOneRank) {
  const TablesOutcome one = expect_same_over_ranks(run_of(two_collections));
  ASSERT_EQ(one.tables.size(), 4);
  EXPECT_LE(one.tables.at("users").rows.size(), 50);
  EXPECT_GT(one.tables.at("users").evicted.size(), 100);
  EXPECT_GT(one.tables.at("shops").counters.counted.unadmitted, 50);
  EXPECT_GT(one.tables.at("regions").counters.counted.unadmitted, 50);
}

TEST(CollectionsTest, TheLimitOfTheSecondEndsAllRanks) {
  const TableRun run = run_of([] {
    Collections collections = {one_collection()[0]};
    TableConfig users = table_config("users", 3);
    users.mutable_limit()->set_max_rows(150);
    users.mutable_limit()->set_on_full(LimitConfig::FAIL);
    collections.push_back(collection_of({users}, {{"u", "users"}, {"v", "users"}, {"w", "users"}}));
    return collections;
  });
  std::map<int, int64_t> steps;  // number of ranks → steps made
  for (const int world_size : {1, 2, 3}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    std::vector<int64_t> of_ranks(world_size), rows(2);
    std::vector<std::vector<int64_t>> rows_of(world_size);
    const auto statuses = run_table_ranks(run, world_size, [&](Trainer& trainer, int rank) {
      const absl::Status status = trainer.train().status();
      of_ranks[rank] = trainer.progress().step;
      for (const EmbeddingCollection* collection : trainer.collections()) {
        rows_of[rank].push_back(collection->tables()[0]->rows());
      }
      return status;
    });
    for (int rank = 0; rank < world_size; ++rank) {
      EXPECT_THAT(statuses[rank],
                  StatusIs(absl::StatusCode::kResourceExhausted, testing::HasSubstr("users")));
      EXPECT_EQ(of_ranks[rank], of_ranks[0]);
      for (size_t i = 0; i < rows.size(); ++i) rows[i] += rows_of[rank].at(i);
    }
    EXPECT_GT(of_ranks[0], 0);
    EXPECT_EQ(rows[0], rows[1]) << "the first collection has rows of a step that failed";
    steps[world_size] = of_ranks[0];
    EXPECT_EQ(steps[world_size], steps[1]);
  }
}

// ---- Lookups ----

// The forward pass looks up the ids of a micro-batch never, once or twice.
TEST(LookupsTest, AnyNumberEqualsOneRank) {
  const auto times = [](ListsModel& model) {
    model.times = [](const Batch& batch) {
      return batch.example_ids[0].item<int64_t>() / 23 % 3;  // the number of the batch
    };
  };
  for (const int64_t micro_batches : {2, 3}) {
    SCOPED_TRACE(absl::StrCat(micro_batches, " micro-batches"));
    TableRun run = run_of(one_collection, times);
    run.options.trainer.micro_batches = micro_batches;
    const TablesOutcome one = expect_same_over_ranks(run);
    EXPECT_EQ(one.tables.at("items").counters.counted.occurrences, 30 * 23 * 3);
  }
}

// ---- Poolings ----

// Makes each group of four ids of an example a list of at most four ids, some of them empty.
KeyedJagged lists_of(const Batch& batch, bool weighted) {
  constexpr int64_t kLongest = 4;
  const int64_t lists = batch.sparse.values.numel() / kLongest, size = batch.size;
  const int64_t* ids = batch.sparse.values.const_data_ptr<int64_t>();
  std::vector<int64_t> values, offsets = {0};
  std::vector<float> weights;
  for (int64_t list = 0; list < lists; ++list) {
    const int64_t feature = list / size, example = list % size;
    const auto id = [&](int64_t i) { return ids[(feature * kLongest + i) * size + example]; };
    const int64_t length = (id(0) + id(1)) % (kLongest + 1);
    for (int64_t i = 0; i < length; ++i) {
      values.push_back(id(i));
      weights.push_back(0.5f + static_cast<float>(id(i) % 7));
    }
    offsets.push_back(static_cast<int64_t>(values.size()));
  }
  KeyedJagged result = {
      torch::tensor(values, torch::kLong), torch::tensor(offsets, torch::kLong), {}};
  if (weighted) result.weights = torch::tensor(weights, torch::kFloat);
  return result;
}

TEST(PoolingsTest, AllEqualOneRank) {
  const auto collections = []() -> Collections {
    return {collection_of({table_config("items", 4), table_config("pairs", 3)},
                          {{"sum", "items", SUM},
                           {"mean", "pairs", MEAN},
                           {"root", "items", SQUARE_ROOT_N},
                           {"first", "pairs", FIRST_N, 2},
                           {"none", "items", NONE},
                           {"some", "items", MEAN, 2}})};
  };
  for (const bool weighted : {false, true}) {
    SCOPED_TRACE(weighted ? "ids with weights" : "ids without weights");
    TableRun run = run_of(collections, [weighted](ListsModel& model) {
      model.features = [weighted](const Batch& batch) { return lists_of(batch, weighted); };
    });
    run.options.train.sparse = 4 * 6;
    run.options.trainer.micro_batches = 2;
    expect_same_over_ranks(run);
  }
}

// ---- A separate train step ----

// Omits timings, clipping and tasks. Computes each micro-batch three times; only the last
// computation counts.
class OwnStep : public TrainStep {
 public:
  absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                 StepObserver& observer) override {
    StepResult result;
    const absl::Status status = compute(parts, input, observer, result);
    for (const auto& optimizer : parts.dense_optimizers) optimizer->zero_grad();
    if (!status.ok() || !result.applied) parts.sparse_optimizer->discard();
    RETURN_IF_ERROR(status);
    return result;
  }

 private:
  static absl::Status compute(const TrainStepParts& parts, const StepInput& input,
                              StepObserver& observer, StepResult& result) {
    CommitInput commit;
    commit.examples = result.examples = input.examples;
    std::vector<at::Tensor> predictions, labels;
    for (size_t i = 0; i < input.micro_batches.size(); ++i) {
      const Batch& batch = input.micro_batches[i];
      RETURN_IF_ERROR(observer.after_data(batch, static_cast<int64_t>(i)));
      labels.push_back(batch.labels);
      predictions.push_back(torch::zeros_like(batch.labels));
      if (batch.size == 0) continue;
      for (int trial = 0; trial < 2; ++trial) {
        const torch::NoGradGuard no_gradients;
        RETURN_IF_ERROR(parts.model.forward(batch).status());
      }
      seed_generators(input.seed, input.progress.step, static_cast<int64_t>(i), input.rank);
      ASSIGN_OR_RETURN(const ModelOutput output, parts.model.forward(batch));
      const at::Tensor loss = output.loss / static_cast<double>(input.examples);
      loss.backward();
      commit.loss = commit.loss.defined() ? commit.loss + loss.detach() : loss.detach();
      predictions.back() = output.predictions.detach();
    }
    RETURN_IF_ERROR(parts.sparse_optimizer->check(input.progress));
    const GradientSummary summary = parts.sparse_optimizer->summarize(false);
    if (!summary.finite) commit.non_finite = summary.not_finite;
    ASSIGN_OR_RETURN(const CommitDecision decision, parts.commit.run(commit));
    result.applied = decision.apply;
    result.refused = decision.refused;
    result.loss = decision.loss;
    result.predictions = torch::cat(predictions);
    result.labels = torch::cat(labels);
    if (!decision.apply) return absl::OkStatus();
    observer.after_backward(Gradients(parts.parameters, nullptr));
    for (const auto& optimizer : parts.dense_optimizers) {
      RETURN_IF_ERROR(optimizer->step(input.progress));
    }
    return parts.sparse_optimizer->step(input.progress, decision.gradient_scale);
  }
};

TEST(OwnStepTest, EqualsTheStandardOne) {
  for (const bool refused : {false, true}) {
    SCOPED_TRACE(refused ? "a refused step" : "all steps are applied");
    TableRun run;
    run.options.table.mutable_admission()->mutable_count()->set_min_count(3);
    run.options.trainer.micro_batches = 2;
    if (refused) {
      run.prepare = [](Trainer& trainer, int rank) {
        return refuse_first_step(trainer, rank, [](HookContext&) {});
      };
    }
    TableRun own = run;
    own.change_parts = [](const TinyTrainerOptions&, TrainerParts& parts) {
      parts.train_step = std::make_unique<OwnStep>();
    };
    for (const int world_size : {1, 2, 3}) {
      SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
      const TablesOutcome outcome = train_tables(own, world_size);
      EXPECT_EQ(outcome.tables.at("items").counters.applied_steps,
                run.options.train.batches / 2 - (refused ? 1 : 0));
      expect_equal_outcome(train_tables(run, world_size), outcome);
    }
  }
}

// ---- Reports ----

// Keeps the reports of a run.
class ReportsHook : public Hook {
 public:
  explicit ReportsHook(std::vector<Report>* reports) : reports_(reports) {}
  absl::string_view name() const override { return "reports"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    reports_->push_back(report);
    return absl::OkStatus();
  }

 private:
  std::vector<Report>* reports_;
};

TEST(ReportsTest, TablesAreReportedAsByOneRank) {
  TableRun run = run_of(two_collections);
  run.options.trainer.report = {.every_steps = 4, .at_end = true};
  std::vector<std::vector<Report>> reports;  // of each rank
  run.prepare = [&](Trainer& trainer, int rank) {
    return trainer.add_hook(std::make_unique<ReportsHook>(&reports[rank]));
  };
  std::vector<Report> one;
  for (const int world_size : {1, 2, 3}) {
    reports.assign(world_size, {});
    train_tables(run, world_size);
    if (world_size == 1) one = reports[0];
    ASSERT_EQ(one.size(), 8);
    for (int rank = 0; rank < world_size; ++rank) {
      ASSERT_EQ(reports[rank].size(), one.size());
      for (size_t i = 0; i < one.size(); ++i) {
        SCOPED_TRACE(absl::StrCat(world_size, " ranks, rank ", rank, ", report ", i));
        const Report& report = reports[rank][i];
        EXPECT_EQ(report.progress.step, one[i].progress.step);
        EXPECT_EQ(report.examples, one[i].examples);
        ASSERT_EQ(report.tables.size(), 4);
        for (const auto& [name, table] : one[i].tables) {
          SCOPED_TRACE(name);
          const TableReport& other = report.tables.at(name);
          EXPECT_EQ(other.rows, table.rows);
          EXPECT_EQ(other.candidates, table.candidates);
          EXPECT_EQ(other.inserted, table.inserted);
          EXPECT_EQ(other.evicted, table.evicted);
          EXPECT_EQ(other.unadmitted, table.unadmitted);
          EXPECT_EQ(other.unique_share, table.unique_share);
          EXPECT_EQ(other.hottest_share, table.hottest_share);
          EXPECT_EQ(other.unknown_share, table.unknown_share);
        }
      }
    }
  }
  int64_t inserted = 0, evicted = 0, unadmitted = 0;
  for (const Report& report : one) {
    inserted += report.tables.at("items").inserted;
    for (const auto& [reason, rows] : report.tables.at("users").evicted) evicted += rows;
    unadmitted += report.tables.at("shops").unadmitted;
  }
  EXPECT_GT(inserted, 100);
  EXPECT_GT(evicted, 100);
  EXPECT_GT(unadmitted, 50);
}

}  // namespace
}  // namespace millrace
