#include "models/mlp_model.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/status_matchers.h"
#include "models/model_conformance.h"
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

ModelConformance of_hidden(const std::vector<int64_t>& hidden) {
  const int layers = static_cast<int>(hidden.size()) + 1;
  return {.config = [=] { return small_config(hidden); },
          .sparse = 0,
          .dense = kDense,
          .plain_logit = [=](const Model& model, const at::Tensor&, const Batch& batch,
                             int64_t e) { return plain_logit(model, batch, e, layers); }};
}

[[maybe_unused]] const bool kMlp = register_model_conformance("Mlp", of_hidden({4}));
[[maybe_unused]] const bool kMlpOfNoHiddenLayer =
    register_model_conformance("MlpOfNoHiddenLayer", of_hidden({}));
[[maybe_unused]] const bool kMlpOfTwoHiddenLayers =
    register_model_conformance("MlpOfTwoHiddenLayers", of_hidden({5, 3}));

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
  refused(small_config({0}), job, "hidden[0] is 0; must be 1 to 65536");
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

}  // namespace
}  // namespace millrace
