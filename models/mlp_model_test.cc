#include "models/mlp_model.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/status_matchers.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kDense = 3;

ModelConfig small_config(std::vector<int64_t> hidden) {
  ModelConfig config;
  config.set_name("mlp");
  for (const int64_t width : hidden) config.MutableExtension(mlp)->add_hidden(width);
  return config;
}

std::shared_ptr<Model> make(const ModelConfig& config, uint64_t seed = 1) {
  return make_test_model(config, model_test_config(0, kDense, 4), seed).value();
}

double plain_logit(const Model& model, const Batch& batch, int64_t e, int layers) {
  std::vector<double> x;
  for (int d = 0; d < kDense; ++d) x.push_back(batch.dense[e][d].item<double>());
  for (int layer = 0; layer < layers; ++layer) {
    const bool last = layer == layers - 1;
    x = plain_linear(model, "mlp." + std::to_string(2 * layer), x, /*relu=*/!last);
  }
  return x[0];
}

TEST(MlpModelTest, LossAndPredictionsOfThePlainFormula) {
  for (const auto& hidden : std::vector<std::vector<int64_t>>{{}, {4}, {5, 3}}) {
    const std::shared_ptr<Model> model = make(small_config(hidden));
    Batch batch = model_test_batch(2, 6, 0, kDense);
    batch.weights = at::arange(6, at::kFloat) * 0.5;
    const ModelOutput output = model->forward(batch).value();
    double loss = 0;
    for (int64_t e = 0; e < 6; ++e) {
      const double logit = plain_logit(*model, batch, e, static_cast<int>(hidden.size()) + 1);
      loss += 0.5 * e * (std::log1p(std::exp(logit)) - batch.labels[e][0].item<double>() * logit);
      EXPECT_NEAR(output.predictions[e][0].item<double>(), 1 / (1 + std::exp(-logit)), 1e-6);
    }
    EXPECT_NEAR(output.loss.item<double>(), loss, 1e-5);
  }
}

TEST(MlpModelTest, AnEmptyBatchHasLossZeroAndGradients) {
  const std::shared_ptr<Model> model = make(small_config({4}));
  const ModelOutput output = model->forward(model_test_batch(1, 0, 0, kDense)).value();
  EXPECT_EQ(output.loss.item<double>(), 0);
  EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({0, 1}));
  output.loss.backward();
  for (const auto& named : model->named_parameters()) {
    ASSERT_TRUE(named.value().grad().defined()) << named.key();
    EXPECT_EQ(named.value().grad().abs().sum().item<double>(), 0) << named.key();
  }
}

TEST(MlpModelTest, EqualSeedsGiveEqualParameters) {
  const auto weight = [](uint64_t seed) {
    return parameter(*make(small_config({4}), seed), "mlp.0.weight").clone();
  };
  EXPECT_TRUE(at::equal(weight(1), weight(1)));
  EXPECT_FALSE(at::equal(weight(1), weight(2)));
}

TEST(MlpModelTest, DropsOutInTrainingOnly) {
  ModelConfig config = small_config({16});
  config.MutableExtension(mlp)->set_dropout(0.5);
  const std::shared_ptr<Model> model = make(config);
  const Batch batch = model_test_batch(1, 64, 0, kDense);
  EXPECT_FALSE(at::equal(model->forward(batch)->predictions, model->forward(batch)->predictions));
  model->eval();
  EXPECT_TRUE(at::equal(model->forward(batch)->predictions, model->forward(batch)->predictions));
}

TEST(MlpModelTest, WhatDoesNotFitIsNamed) {
  const auto refused = [](const ModelConfig& config, const TrainConfig& job,
                          const std::string& what) {
    EXPECT_THAT(make_test_model(config, job),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("model \"mlp\""), HasSubstr(what))));
  };
  const TrainConfig job = model_test_config(0, kDense, 4);
  refused(small_config({0}), job, "hidden has a width of 0");
  refused(small_config({}), model_test_config(1, 1, 4), "feature \"s0\" is sparse");
  refused(small_config({}), model_test_config(0, 0, 4), "at least one dense feature");
  ModelConfig config = small_config({});
  config.MutableExtension(mlp)->set_dropout(std::nan(""));
  refused(config, job, "dropout is nan");
  config = small_config({});
  config.MutableExtension(deepfm);
  refused(config, job, "[millrace.deepfm] is not its message");
  TrainConfig tasks = job;
  tasks.add_task()->set_label("y2");
  refused(small_config({}), tasks, "no feature of kind LABEL \"y2\"");
}

TEST(MlpModelTest, AnOutputForEachLabel) {
  TrainConfig job = model_test_config(0, kDense, 4);
  add_test_label(job);
  test_tasks(small_config({4}), job);
}

}  // namespace
}  // namespace millrace
