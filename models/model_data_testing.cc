#include "models/model_data_testing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "io/feature_schema.h"

namespace millrace {

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
  return resources_of(config, FeatureSchema::create(config).value());
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

absl::StatusOr<std::shared_ptr<Model>> make_test_model(const ModelConfig& model,
                                                       const TrainConfig& config, uint64_t seed) {
  return create_model(model, model_test_resources(config), seed);
}

}  // namespace millrace
