#include "models/model_data_testing.h"

#include <ATen/ATen.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "io/feature_schema.h"

namespace millrace {
namespace {

constexpr int kSparse = 3, kDense = 2, kDim = 4;
constexpr int64_t kSize = 5;

double loss_of(Model& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  return model.forward(batch)->loss.item<double>();
}

void test_shapes(const ModelConfig& config, const TrainConfig& job) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  for (const int64_t size : {int64_t{0}, int64_t{1}, kSize}) {
    ASSERT_OK_AND_ASSIGN(ModelOutput output,
                         model->forward(model_test_batch(1, size, kSparse, kDense)));
    EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({size, 1}));
    EXPECT_FALSE(output.predictions.requires_grad());
    EXPECT_EQ(output.loss.dim(), 0);
    EXPECT_FALSE(output.targets.defined());
    if (size == 0) {
      EXPECT_EQ(output.loss.item<double>(), 0);
    }
    output.loss.backward();  // also of an empty batch
    for (const auto& named : model->named_parameters()) {
      EXPECT_TRUE(named.value().grad().defined()) << named.key();
    }
  }
}

using PlainLogit =
    std::function<double(const Model&, const at::Tensor&, const Batch&, int64_t example)>;

// Rows follow from seed, table and id alone: another collection gives what the model's gives.
at::Tensor plain_pooled(const TrainConfig& job, int pooled_dim, const Batch& batch) {
  EmbeddingCollectionOptions options = model_test_resources(job).embeddings;
  for (TableConfig& table : options.tables) table.set_dim(pooled_dim);
  const auto rows = EmbeddingCollection::create(options).value();
  const at::NoGradGuard no_grad;
  return rows->forward(batch.sparse)->pooled;
}

double plain_loss_of_example(double logit, const Batch& batch, int64_t e) {
  const double weight = batch.weights.defined() ? batch.weights[e].item<double>() : 1;
  const double label = batch.labels[e][0].item<double>();
  return weight * (std::log1p(std::exp(logit)) - label * logit);
}

std::shared_ptr<EmbeddingCollection> find_collection(const Model& model) {
  for (const auto& child : model.children()) {
    if (auto found = std::dynamic_pointer_cast<EmbeddingCollection>(child)) return found;
  }
  return nullptr;
}

void test_loss(const ModelConfig& config, const TrainConfig& job, int pooled_dim,
               const PlainLogit& plain_logit) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  const at::NoGradGuard no_grad;
  for (const bool weighted : {false, true}) {
    Batch batch = model_test_batch(2, kSize, kSparse, kDense);
    if (weighted) batch.weights = at::arange(kSize, at::kFloat) * 0.5;
    const at::Tensor pooled = plain_pooled(job, pooled_dim, batch);
    std::vector<double> logits;
    double loss = 0;
    for (int64_t e = 0; e < kSize; ++e) {
      logits.push_back(plain_logit(*model, pooled, batch, e));
      loss += plain_loss_of_example(logits.back(), batch, e);
    }
    ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->evaluate(batch));
    EXPECT_NEAR(output.loss.item<double>(), loss, 1e-5);
    for (int64_t e = 0; e < kSize; ++e) {
      EXPECT_NEAR(output.predictions[e][0].item<double>(), 1 / (1 + std::exp(-logits[e])), 1e-6);
    }
  }
}

void test_gradients(const ModelConfig& config, const TrainConfig& job) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  const Batch batch = model_test_batch(3, kSize, kSparse, kDense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->forward(batch));
  output.loss.backward();
  for (const auto& named : model->named_parameters()) {
    // The derivative along the gradient itself: its squared norm.
    at::Tensor value = named.value().detach();
    const at::Tensor gradient = named.value().grad();
    const double squared_norm = gradient.square().sum().item<double>();
    const double step = 1e-3 / std::sqrt(squared_norm + 1e-12);
    value.add_(gradient, step);
    const double above = loss_of(*model, batch);
    value.sub_(gradient, 2 * step);
    const double below = loss_of(*model, batch);
    value.add_(gradient, step);
    EXPECT_NEAR((above - below) / (2 * step), squared_norm, 0.02 * squared_norm + 1e-3)
        << named.key();
  }
}

void test_table_gradients(const ModelConfig& config, const TrainConfig& job, int pooled_dim,
                          const PlainLogit& plain_logit) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  const Batch batch = model_test_batch(5, kSize, kSparse, kDense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->forward(batch));
  output.loss.backward();
  const std::shared_ptr<EmbeddingCollection> tables = find_collection(*model);
  ASSERT_NE(tables, nullptr);
  ASSERT_EQ(tables->pooled_dim(), kSparse * pooled_dim);

  // No id occurs twice in a feature, so each row has the gradient of its example's pooled columns.
  constexpr double kStep = 1e-4;
  const at::Tensor pooled = plain_pooled(job, pooled_dim, batch).to(at::kDouble);
  const auto offsets = batch.sparse.offsets.accessor<int64_t, 1>();
  double squared_norm = 0;
  for (int64_t e = 0; e < kSize; ++e) {
    for (int64_t column = 0; column < kSparse * pooled_dim; ++column) {
      const auto loss_at = [&](double shift) {
        at::Tensor shifted = pooled.clone();
        shifted[e][column] += shift;
        return plain_loss_of_example(plain_logit(*model, shifted, batch, e), batch, e);
      };
      const double gradient = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      const int64_t place = column / pooled_dim * kSize + e;
      squared_norm += (offsets[place + 1] - offsets[place]) * gradient * gradient;
    }
  }
  const GradientSummary summary = tables->summarize(/*with_norm=*/true);
  EXPECT_TRUE(summary.finite);
  EXPECT_GT(squared_norm, 1e-3);
  EXPECT_NEAR(summary.norm_squared, squared_norm, 1e-3 * squared_norm);
}

void test_seeds(const ModelConfig& config, const TrainConfig& job) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job, 7));
  ASSERT_OK_AND_ASSIGN(const auto same, make_test_model(config, job, 7));
  ASSERT_OK_AND_ASSIGN(const auto other, make_test_model(config, job, 8));
  EXPECT_FALSE(model->named_parameters().is_empty());
  for (const auto& named : model->named_parameters()) {
    EXPECT_TRUE(at::equal(named.value(), parameter(*same, named.key()))) << named.key();
    EXPECT_FALSE(at::equal(named.value(), parameter(*other, named.key()))) << named.key();
  }
}

void test_evaluation_repeats(const ModelConfig& config, const TrainConfig& job) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  model->eval();
  const at::NoGradGuard no_grad;
  const Batch batch = model_test_batch(4, kSize, kSparse, kDense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput first, model->evaluate(batch));
  ASSERT_OK_AND_ASSIGN(const ModelOutput second, model->evaluate(batch));
  EXPECT_TRUE(at::equal(first.predictions, second.predictions));
  EXPECT_TRUE(at::equal(first.loss, second.loss));
}

// With the second label for every other example.
Batch batch_of_tasks(const TrainConfig& job, int64_t size) {
  int sparse = 0, dense = 0;
  for (const FeatureConfig& feature : job.feature()) {
    sparse += feature.kind() == FeatureConfig::SPARSE;
    dense += feature.kind() == FeatureConfig::DENSE;
  }
  Batch batch = model_test_batch(6, size, sparse, dense);
  at::Tensor second = at::arange(size, at::kFloat) - 2;
  second.masked_fill_(at::arange(size).remainder(2) == 1, std::nan(""));
  batch.labels = at::cat({batch.labels, second.unsqueeze(1)}, 1);
  return batch;
}

// Which parameters get a gradient that is not 0 from the losses of a batch, times `factors`.
std::vector<bool> learning(Model& model, const Batch& batch, const at::Tensor& factors) {
  model.zero_grad();
  (model.forward(batch)->loss * factors).sum().backward();
  std::vector<bool> learns;
  for (const auto& named : model.named_parameters()) {
    const at::Tensor gradient = named.value().grad();
    EXPECT_TRUE(gradient.defined() && gradient.isfinite().all().item<bool>()) << named.key();
    learns.push_back(gradient.abs().sum().item<double>() > 0);
  }
  return learns;
}

}  // namespace

void add_test_label(TrainConfig& config) {
  FeatureConfig* label = config.add_feature();
  label->set_name("z");
  label->set_kind(FeatureConfig::LABEL);
  label->set_missing(FeatureConfig::MASK);
  TaskConfig* task = config.add_task();
  task->set_label("z");
  task->set_weight(0.5);
  task->mutable_huber();
}

void test_tasks(const ModelConfig& config, const TrainConfig& job) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(config, job));
  for (const int64_t size : {int64_t{0}, kSize}) {
    const Batch batch = batch_of_tasks(job, size);
    EXPECT_EQ(*model->count_targets(batch), (std::vector<int64_t>{size, (size + 1) / 2}));
    ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->forward(batch));
    EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({size, 2}));
    ASSERT_EQ(output.loss.sizes(), at::IntArrayRef({2}));
    for (int64_t e = 0; e < size; ++e) {
      EXPECT_GT(output.predictions[e][0].item<double>(), 0);
      EXPECT_LT(output.predictions[e][0].item<double>(), 1);
    }
    const at::Tensor known = (at::arange(size).remainder(2) == 0).nonzero().squeeze(1);
    const at::Tensor huber =
        at::huber_loss(output.predictions.select(1, 1).index_select(0, known),
                       batch.labels.select(1, 1).index_select(0, known), at::Reduction::Sum);
    EXPECT_NEAR(output.loss[1].item<double>(), 0.5 * huber.item<double>(), 1e-5);
    EXPECT_EQ(output.loss[0].item<double>() > 0, size > 0);
  }
  const Batch batch = batch_of_tasks(job, kSize);
  for (const bool learns : learning(*model, batch, at::tensor({1.0f, 1.0f}))) EXPECT_TRUE(learns);
  for (const bool learns : learning(*model, batch, at::tensor({0.0f, 1.0f}))) EXPECT_TRUE(learns);
  for (const bool learns : learning(*model, batch, at::tensor({1.0f, 0.0f}))) EXPECT_TRUE(learns);
}

TrainConfig model_test_config(int sparse, int dense, int dim) {
  TrainConfig config;
  for (int i = 0; i < sparse; ++i) {
    const std::string name = absl::StrCat("s", i);
    FeatureConfig* feature = config.add_feature();
    feature->set_name(name);
    feature->set_column(name);
    feature->set_table(name);
    TableConfig* table = config.add_table();
    table->set_name(name);
    table->set_dim(dim);
    table->mutable_initializer()->mutable_uniform()->set_low(-0.5);
    table->mutable_initializer()->mutable_uniform()->set_high(0.5);
  }
  for (int i = 0; i < dense; ++i) {
    FeatureConfig* feature = config.add_feature();
    feature->set_name(absl::StrCat("d", i));
    feature->set_kind(FeatureConfig::DENSE);
  }
  FeatureConfig* label = config.add_feature();
  label->set_name("y");
  label->set_kind(FeatureConfig::LABEL);
  return config;
}

ModelResources model_test_resources(const TrainConfig& config) {
  ModelResources resources{.schema = FeatureSchema::create(config).value(),
                           .embeddings = {},
                           .tasks = {config.task().begin(), config.task().end()}};
  for (const TableConfig& table : config.table()) resources.embeddings.tables.push_back(table);
  for (const SparseFeature& feature : resources.schema.sparse()) {
    resources.embeddings.features.push_back(
        {feature.name, feature.table, feature.pooling, feature.max_ids});
  }
  return resources;
}

Batch model_test_batch(uint64_t seed, int64_t size, int sparse, int dense) {
  std::vector<int64_t> ids, offsets = {0};
  for (int f = 0; f < sparse; ++f) {
    for (int64_t e = 0; e < size; ++e) {
      const int count = f > 0 ? 1 : e == 0 ? 0 : e == 1 ? 2 : 1;
      for (int i = 0; i < count; ++i) ids.push_back(e + 100 * i);
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
  }
  std::vector<float> x, labels;
  for (int64_t e = 0; e < size; ++e) {
    for (int d = 0; d < dense; ++d) {
      x.push_back(4 * uniform24(philox(seed, d, e)[0]) - 2);
    }
    labels.push_back(static_cast<float>(philox(seed, dense, e)[0] % 2));
  }
  Batch batch;
  batch.size = size;
  batch.sparse.values = at::tensor(ids, at::kLong);
  batch.sparse.offsets = at::tensor(offsets, at::kLong);
  batch.dense = at::tensor(x, at::kFloat).view({size, dense});
  batch.labels = at::tensor(labels, at::kFloat).view({size, 1});
  return batch;
}

at::Tensor parameter(const Model& model, const std::string& name) {
  return model.named_parameters()[name].detach();
}

std::vector<double> plain_linear(const Model& model, const std::string& prefix,
                                 const std::vector<double>& x, bool relu) {
  const at::Tensor weight = parameter(model, prefix + ".weight");
  const at::Tensor bias = parameter(model, prefix + ".bias");
  const auto w = weight.accessor<float, 2>();
  const auto b = bias.accessor<float, 1>();
  EXPECT_EQ(w.size(1), static_cast<int64_t>(x.size())) << prefix;
  std::vector<double> y;
  for (int64_t row = 0; row < w.size(0); ++row) {
    double sum = b[row];
    for (size_t i = 0; i < x.size(); ++i) sum += w[row][i] * x[i];
    y.push_back(relu ? std::max(sum, 0.0) : sum);
  }
  return y;
}

void test_model_conformance(const ModelConfig& config, int pooled_dim,
                            const PlainLogit& plain_logit) {
  const TrainConfig job = model_test_config(kSparse, kDense, kDim);
  test_shapes(config, job);
  test_loss(config, job, pooled_dim, plain_logit);
  test_gradients(config, job);
  test_table_gradients(config, job, pooled_dim, plain_logit);
  test_seeds(config, job);
  test_evaluation_repeats(config, job);
}

absl::StatusOr<std::shared_ptr<Model>> make_test_model(const ModelConfig& model,
                                                       const TrainConfig& config, uint64_t seed) {
  return create_model(model, model_test_resources(config), seed);
}

}  // namespace millrace
