#include "tests/fakes/tiny_trainer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "framework/model/model_parts.h"
#include "optim/dense_optimizer_factory.h"
#include "optim/moving_average.h"
#include "optim/sparse_optimizer.h"
#include "tests/fakes/tiny_model.h"

namespace millrace {
namespace {

std::shared_ptr<EmbeddingCollection> shared_table(const TableConfig& table, int64_t features) {
  EmbeddingCollectionOptions options;
  options.tables = {table};
  options.tables[0].set_name("items");
  options.tables[0].set_dim(4);
  options.tables[0].mutable_initializer()->mutable_uniform();
  for (int64_t i = 0; i < features; ++i) {
    options.features.push_back({absl::StrCat("s", i), "items", SUM});
  }
  auto collection = EmbeddingCollection::create(options);
  MILLRACE_CHECK(collection.ok()) << collection.status();
  return *std::move(collection);
}

std::vector<std::unique_ptr<DenseOptimizer>> dense_optimizers(const TinyTrainerOptions& options,
                                                              Model& model) {
  DenseOptimizerConfig config;
  config.set_learning_rate(options.learning_rate);
  options.optimizer == "adam" ? (void)config.mutable_adam() : (void)config.mutable_sgd();
  if (options.dense_optimizer.has_value()) config = *options.dense_optimizer;
  auto optimizers = create_dense_optimizers({config}, parameters_of(model));
  MILLRACE_CHECK(optimizers.ok()) << optimizers.status();
  return *std::move(optimizers);
}

std::unique_ptr<SparseOptimizer> sparse_optimizer(const TinyTrainerOptions& options,
                                                  EmbeddingCollection* collection) {
  SparseOptimizerConfig config;
  config.set_learning_rate(options.learning_rate);
  options.optimizer == "adam" ? (void)config.mutable_adam() : (void)config.mutable_sgd();
  if (options.sparse_optimizer.has_value()) config = *options.sparse_optimizer;
  auto optimizer = SparseOptimizer::create(config, {&collection, 1});
  MILLRACE_CHECK(optimizer.ok()) << optimizer.status();
  return *std::move(optimizer);
}

}  // namespace

TrainerParts tiny_parts(TinyTrainerOptions options) {
  std::shared_ptr<EmbeddingCollection> collection;
  if (options.train.sparse > 0) collection = shared_table(options.table, options.train.sparse);
  options.eval.sparse = options.train.sparse;
  options.eval.dense = options.train.dense;

  auto model = std::make_shared<TinyModel>(options.train.dense, collection);
  model->on_forward = options.on_forward;
  model->gives_targets = options.gives_targets;
  model->counts_targets = options.counts_targets;
  TrainerParts parts;
  parts.dense_optimizers = dense_optimizers(options, *model);
  if (collection != nullptr) parts.sparse_optimizer = sparse_optimizer(options, collection.get());
  if (options.clipping.limit_case() != ClippingConfig::LIMIT_NOT_SET) {
    auto clipping = GradientClipping::create(options.clipping);
    MILLRACE_CHECK(clipping.ok()) << clipping.status();
    parts.clipping = *std::move(clipping);
  }
  if (options.moving_average.has_value()) {
    auto average = MovingAverage::create(*options.moving_average, parameters_of(*model));
    MILLRACE_CHECK(average.ok()) << average.status();
    parts.moving_average = *std::move(average);
  }
  parts.model = std::move(model);
  parts.train_data = std::make_unique<FakeDataset>(options.train);
  parts.evaluation_sets.push_back({"eval", std::make_unique<FakeDataset>(options.eval)});
  parts.clock = options.clock;
  return parts;
}

std::unique_ptr<Trainer> tiny_trainer(TinyTrainerOptions options) {
  auto trainer = Trainer::create(options.trainer, tiny_parts(options));
  MILLRACE_CHECK(trainer.ok()) << trainer.status();
  return *std::move(trainer);
}

}  // namespace millrace
