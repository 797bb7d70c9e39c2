#include "models/model_conformance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

constexpr int kDim = 4;
constexpr int64_t kSize = 5;

TrainConfig job_of(const ModelConformance& c) { return model_test_config(c.sparse, c.dense, kDim); }

double loss_of(Model& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  return model.forward(batch)->loss.item<double>();
}

void check_shapes(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c)));
  for (const int64_t size : {int64_t{0}, int64_t{1}, kSize}) {
    ASSERT_OK_AND_ASSIGN(ModelOutput output,
                         model->forward(model_test_batch(1, size, c.sparse, c.dense)));
    EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({size, 1}));
    EXPECT_FALSE(output.predictions.requires_grad());
    EXPECT_EQ(output.loss.dim(), 0);
    EXPECT_FALSE(output.targets.defined());
    if (size == 0) {
      EXPECT_EQ(output.loss.item<double>(), 0);
    }
    output.loss.backward();  // also of an empty batch
    for (const auto& named : model->named_parameters()) {
      const at::Tensor gradient = named.value().grad();
      ASSERT_TRUE(gradient.defined()) << named.key();
      if (size == 0) {
        EXPECT_EQ(gradient.count_nonzero().item<int64_t>(), 0) << named.key();
      }
    }
  }
}

// Rows depend only on seed, table and id, so a second collection has the rows of the model's
// collection.
at::Tensor plain_pooled(const ModelConformance& c, const Batch& batch) {
  if (c.sparse == 0) return {};
  EmbeddingCollectionOptions options = model_test_resources(job_of(c)).embeddings;
  for (TableConfig& table : options.tables) table.set_dim(c.pooled_dim);
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

void check_formula(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c)));
  const at::NoGradGuard no_grad;
  for (const bool weighted : {false, true}) {
    Batch batch = model_test_batch(2, kSize, c.sparse, c.dense);
    if (weighted) batch.weights = at::arange(kSize, at::kFloat) * 0.5;
    const at::Tensor pooled = plain_pooled(c, batch);
    std::vector<double> logits;
    double loss = 0;
    for (int64_t e = 0; e < kSize; ++e) {
      logits.push_back(c.plain_logit(*model, pooled, batch, e));
      loss += plain_loss_of_example(logits.back(), batch, e);
    }
    ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->evaluate(batch));
    EXPECT_NEAR(output.loss.item<double>(), loss, 1e-5);
    for (int64_t e = 0; e < kSize; ++e) {
      EXPECT_NEAR(output.predictions[e][0].item<double>(), 1 / (1 + std::exp(-logits[e])), 1e-6);
    }
  }
}

void check_gradients(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c)));
  const Batch batch = model_test_batch(3, kSize, c.sparse, c.dense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->forward(batch));
  output.loss.backward();
  for (const auto& named : model->named_parameters()) {
    // The derivative in the direction of the gradient equals the squared norm of the gradient.
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

void check_table_gradients(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c)));
  const Batch batch = model_test_batch(5, kSize, c.sparse, c.dense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput output, model->forward(batch));
  output.loss.backward();
  const std::shared_ptr<EmbeddingCollection> tables = find_collection(*model);
  ASSERT_NE(tables, nullptr);
  ASSERT_EQ(tables->pooled_dim(), c.sparse * c.pooled_dim);

  // No id occurs twice in a feature, so each row has the gradient of its example's pooled columns.
  constexpr double kStep = 1e-4;
  const at::Tensor pooled = plain_pooled(c, batch).to(at::kDouble);
  const auto offsets = batch.sparse.offsets.accessor<int64_t, 1>();
  double squared_norm = 0;
  for (int64_t e = 0; e < kSize; ++e) {
    for (int64_t column = 0; column < c.sparse * c.pooled_dim; ++column) {
      const auto loss_at = [&](double shift) {
        at::Tensor shifted = pooled.clone();
        shifted[e][column] += shift;
        return plain_loss_of_example(c.plain_logit(*model, shifted, batch, e), batch, e);
      };
      const double gradient = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
      const int64_t place = column / c.pooled_dim * kSize + e;
      squared_norm += (offsets[place + 1] - offsets[place]) * gradient * gradient;
    }
  }
  const GradientSummary summary = tables->summarize(/*with_norm=*/true);
  EXPECT_TRUE(summary.finite);
  EXPECT_GT(squared_norm, 1e-3);
  EXPECT_NEAR(summary.norm_squared, squared_norm, 1e-3 * squared_norm);
}

void check_seeds(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c), 7));
  ASSERT_OK_AND_ASSIGN(const auto same, make_test_model(c.config(), job_of(c), 7));
  ASSERT_OK_AND_ASSIGN(const auto other, make_test_model(c.config(), job_of(c), 8));
  EXPECT_FALSE(model->named_parameters().is_empty());
  for (const auto& named : model->named_parameters()) {
    EXPECT_TRUE(at::equal(named.value(), parameter(*same, named.key()))) << named.key();
    EXPECT_FALSE(at::equal(named.value(), parameter(*other, named.key()))) << named.key();
  }
}

void check_evaluation_repeats(const ModelConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job_of(c)));
  model->eval();
  const at::NoGradGuard no_grad;
  const Batch batch = model_test_batch(4, kSize, c.sparse, c.dense);
  ASSERT_OK_AND_ASSIGN(const ModelOutput first, model->evaluate(batch));
  ASSERT_OK_AND_ASSIGN(const ModelOutput second, model->evaluate(batch));
  EXPECT_TRUE(at::equal(first.predictions, second.predictions));
  EXPECT_TRUE(at::equal(first.loss, second.loss));
}

// Returns a batch in which every other example has the second label.
Batch batch_of_tasks(const ModelConformance& c, int64_t size) {
  Batch batch = model_test_batch(6, size, c.sparse, c.dense);
  at::Tensor second = at::arange(size, at::kFloat) - 2;
  second.masked_fill_(at::arange(size).remainder(2) == 1, std::nan(""));
  batch.labels = at::cat({batch.labels, second.unsqueeze(1)}, 1);
  return batch;
}

// Returns, for each parameter, true if the losses of a batch, times `factors`, give it a gradient
// other than 0.
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

void check_tasks(const ModelConformance& c) {
  TrainConfig job = job_of(c);
  add_test_label(job);
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(c.config(), job));
  for (const int64_t size : {int64_t{0}, kSize}) {
    const Batch batch = batch_of_tasks(c, size);
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
  const Batch batch = batch_of_tasks(c, kSize);
  for (const bool learns : learning(*model, batch, at::tensor({1.0f, 1.0f}))) EXPECT_TRUE(learns);
  for (const bool learns : learning(*model, batch, at::tensor({0.0f, 1.0f}))) EXPECT_TRUE(learns);
  for (const bool learns : learning(*model, batch, at::tensor({1.0f, 0.0f}))) EXPECT_TRUE(learns);
}

}  // namespace

std::vector<Property> model_properties(const ModelConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("HasOutputsOfTheBatch", check_shapes),
      property("HasTheGradientsOfItsLoss", check_gradients),
      property("FollowsFromTheSeed", check_seeds),
      property("EvaluatesWithoutAChange", check_evaluation_repeats),
  };
  if (conformance.plain_logit != nullptr) {
    properties.push_back(property("EqualsItsFormula", check_formula));
    if (conformance.sparse > 0) {
      properties.push_back(property("HasTheGradientsOfItsTables", check_table_gradients));
    }
  }
  if (conformance.learns_several_tasks) {
    properties.push_back(property("LearnsEachTask", check_tasks));
  }
  return properties;
}

bool register_model_conformance(const std::string& suite, const ModelConformance& conformance,
                                std::source_location place) {
  return register_properties(suite, model_properties(conformance), place);
}

}  // namespace millrace
