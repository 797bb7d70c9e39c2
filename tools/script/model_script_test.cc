#include "tools/script/model_script.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model_registry.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

struct Script {
  torch::jit::Module module;
  json description;
};

// A test with everything that a program without the model's code has.
class ModelScriptTest : public testing::Test {
 protected:
  absl::StatusOr<Script> write(Model& model, const TrainConfig& job) {
    ModelScriptOptions options;
    options.schema = model_test_resources(job).schema;
    options.model = "some_model";
    options.progress.step = 7;
    RETURN_IF_ERROR(write_file_atomically(files_, "model.pt", [&](WritableFile& file) {
      return write_model_script(model, options, file).status();
    }));
    std::istringstream bytes(read_file(files_, "model.pt").value());
    torch::jit::ExtraFilesMap extra = {{"millrace.json", ""}};
    torch::jit::Module module = torch::jit::load(bytes, std::nullopt, extra);
    return Script{std::move(module), json::parse(extra["millrace.json"])};
  }

  MemoryFileSystem files_;
};

ModelConfig named(const std::string& name) {
  ModelConfig config;
  config.set_name(name);
  return config;
}

EmbeddingCollection& collection_of(const Model& model) {
  for (const auto& module : model.modules()) {
    if (auto* found = dynamic_cast<EmbeddingCollection*>(module.get())) return *found;
  }
  ADD_FAILURE() << "no collection";
  std::abort();
}

TEST_F(ModelScriptTest, ReadyModelsPredictTheSameWithoutTheirCode) {
  for (const std::string name : {"deepfm", "dlrm", "mlp"}) {
    SCOPED_TRACE(name);
    const int sparse = name == "mlp" ? 0 : 3;
    const TrainConfig job = model_test_config(sparse, 2, 4);
    ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(named(name), job));
    ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
    EXPECT_FALSE(model->is_training());
    const at::NoGradGuard no_grad;
    for (const int64_t size : {2, 5, 300}) {
      const Batch batch = model_test_batch(size, size, sparse, 2);
      std::vector<c10::IValue> inputs = {batch.dense};
      if (sparse > 0) {
        inputs.emplace_back(collection_of(*model).forward(batch.sparse).value().pooled);
      }
      ASSERT_OK_AND_ASSIGN(const ModelOutput expected, model->evaluate(batch));
      const at::Tensor scripted = script.module.forward(inputs).toTensor();
      EXPECT_TRUE(scripted.allclose(expected.predictions, 1e-6, 1e-7)) << size;
    }
    // Parameters and buffers keep their names.
    size_t parameters = 0;
    for (const auto& parameter : script.module.named_parameters()) {
      EXPECT_TRUE(parameter.value.equal(model->named_parameters()[parameter.name]));
      ++parameters;
    }
    EXPECT_EQ(parameters, model->named_parameters().size());
    EXPECT_EQ(script.module.named_buffers().size(), model->named_buffers().size());
  }
}

TEST_F(ModelScriptTest, SaysWhatItsInputsAre) {
  TrainConfig job = model_test_config(2, 1, 4);
  job.mutable_table(1)->mutable_default_value()->mutable_constant()->set_value(0.5);
  job.mutable_feature(1)->set_pooling(MEAN);
  job.mutable_feature(1)->set_weight_column("w1");
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(named("deepfm"), job));
  ASSERT_OK_AND_ASSIGN(const Script script, write(*model, job));
  EXPECT_EQ(script.description, json::parse(R"({
    "format": "millrace script 1", "model": "some_model", "step": 7, "examples": 0,
    "inputs": [
      {"name": "dense", "type": "float32 [batch, 1]", "columns": ["d0"]},
      {"name": "embeddings", "type": "float32 [batch, 10]", "collection": "embeddings",
       "features": [
         {"feature": "s0", "table": "s0", "dim": 5, "first_column": 0, "pooling": "sum",
          "weighted": false, "max_ids": 0, "default_value": "initial",
          "initializer": "uniform { low: -0.5 high: 0.5 }", "seed": 1},
         {"feature": "s1", "table": "s1", "dim": 5, "first_column": 5, "pooling": "mean",
          "weighted": true, "max_ids": 0, "default_value": 0.5}]}],
    "output": {"type": "float32 [batch, 1]", "columns": ["y"]}})"));
  const auto& arguments = script.module.get_method("forward").function().getSchema().arguments();
  ASSERT_EQ(arguments.size(), 3);
  EXPECT_EQ(arguments[1].name(), "dense");
  EXPECT_EQ(arguments[2].name(), "embeddings");
}

// A model defined by a function.
class TestModel : public Model {
 public:
  using Predict = std::function<absl::StatusOr<at::Tensor>(TestModel&, const Batch&)>;

  TestModel(const TrainConfig& job, Predict predict) : predict_(std::move(predict)) {
    embeddings = register_module(
        "embeddings", EmbeddingCollection::create(model_test_resources(job).embeddings).value());
    weight = register_parameter("weight", at::ones({4, 1}));
  }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ModelOutput output;
    ASSIGN_OR_RETURN(output.predictions, predict_(*this, batch));
    output.loss = output.predictions.sum();
    return output;
  }

  std::shared_ptr<EmbeddingCollection> embeddings;
  at::Tensor weight;

 private:
  const Predict predict_;
};

TrainConfig job_with_history() {
  TrainConfig job = model_test_config(3, 2, 4);
  job.mutable_feature(0)->set_name("0.history");
  job.mutable_feature(0)->set_pooling(NONE);
  return job;
}

// Expects equal predictions of `model` and its script for batches of several sizes.
void expect_equal_predictions(TestModel& model, Script& script, const TrainConfig& job) {
  const int sparse = job.table_size(), dense = job.feature_size() - sparse - 1;
  const at::NoGradGuard no_grad;
  for (const int64_t size : {2, 6}) {
    const Batch batch = model_test_batch(3, size, sparse, dense);
    const EmbeddingOutput rows = model.embeddings->forward(batch.sparse).value();
    std::vector<c10::IValue> inputs;
    if (dense > 0) inputs.emplace_back(batch.dense);
    if (model.embeddings->pooled_dim() > 0) inputs.emplace_back(rows.pooled);
    for (const FeaturePlace& place : rows.places()) {
      if (place.unpooled < 0) continue;
      const JaggedRows jagged = rows.jagged(place.name).value();
      inputs.insert(inputs.end(), {jagged.rows, jagged.offsets});
    }
    const at::Tensor scripted = script.module.forward(inputs).toTensor();
    const at::Tensor expected = model.evaluate(batch)->predictions;
    EXPECT_TRUE(scripted.allclose(expected, 1e-6, 1e-7)) << size;
  }
}

TEST_F(ModelScriptTest, TakesRowsThatAreNotPooled) {
  const TrainConfig job = job_with_history();
  const auto model = std::make_shared<TestModel>(
      job, [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
        ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
        ASSIGN_OR_RETURN(const PaddedRows history, output.padded("0.history", 2));
        ASSIGN_OR_RETURN(const at::Tensor item, output.feature("s2"));
        const at::Tensor length = history.mask.sum(1, /*keepdim=*/true);
        const at::Tensor mean = history.rows.sum(1) / (1 + length);
        return (mean * item).matmul(self.weight) + batch.dense.sum(1, /*keepdim=*/true);
      });
  ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
  std::vector<std::string> names;
  for (const json& input : script.description["inputs"]) names.push_back(input["name"]);
  EXPECT_THAT(names,
              testing::ElementsAre("dense", "embeddings", "_0_history_rows", "_0_history_offsets"));
  const json& described = script.description["inputs"];
  EXPECT_EQ(described[2]["features"], described[3]["features"]);
  EXPECT_EQ(described[2]["features"], json::parse(R"([
      {"feature": "0.history", "table": "s0", "dim": 4, "pooling": "none", "weighted": false,
       "max_ids": 0, "default_value": "initial", "seed": 1,
       "initializer": "uniform { low: -0.5 high: 0.5 }"}])"));
  expect_equal_predictions(*model, script, job);
}

TEST_F(ModelScriptTest, FirstRowsAreColumnsOfTheCollection) {
  TrainConfig job = model_test_config(1, 0, 4);
  job.mutable_feature(0)->set_pooling(FIRST_N);
  job.mutable_feature(0)->set_max_ids(3);
  const auto model = std::make_shared<TestModel>(
      job, [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
        ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
        return output.pooled.unflatten(1, {3, 4}).sum(1).matmul(self.weight);
      });
  ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
  const json& input = script.description["inputs"][0];
  EXPECT_EQ(input["type"], "float32 [batch, 12]");
  EXPECT_EQ(input["features"][0]["dim"], 4);
  EXPECT_EQ(input["features"][0]["pooling"], "first_n");
  EXPECT_EQ(input["features"][0]["max_ids"], 3);
  expect_equal_predictions(*model, script, job);
}

TEST_F(ModelScriptTest, WorksWithoutDenseFeaturesOrPooledOnes) {
  TrainConfig pooled = model_test_config(1, 0, 4), unpooled = pooled;
  unpooled.mutable_feature(0)->set_pooling(NONE);
  for (const TrainConfig& job : {pooled, unpooled}) {
    const auto model = std::make_shared<TestModel>(
        job, [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
          ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
          at::Tensor rows = at::cat({batch.dense, output.pooled}, 1);
          if (output.places()[0].unpooled >= 0) {
            ASSIGN_OR_RETURN(const PaddedRows padded, output.padded("s0", 3));
            rows = at::cat({rows, padded.rows.sum(1)}, 1);
          }
          return rows.matmul(self.weight);
        });
    ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
    expect_equal_predictions(*model, script, job);
  }
}

TEST_F(ModelScriptTest, LeavesItsInputsAlone) {
  const TrainConfig job = model_test_config(1, 0, 4);
  const auto model = std::make_shared<TestModel>(
      job, [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
        ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
        output.pooled.narrow(1, 0, 2).mul_(2);
        return output.pooled.matmul(self.weight);
      });
  ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
  const at::Tensor rows = at::ones({2, 4});
  EXPECT_TRUE(script.module.forward({rows}).toTensor().equal(at::full({2, 1}, 6.0f)));
  EXPECT_TRUE(rows.equal(at::ones({2, 4})));
}

TEST_F(ModelScriptTest, IsInEvaluationModeWithoutGradients) {
  const TrainConfig job = model_test_config(0, 2, 4);
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(named("mlp"), job));
  ASSERT_OK_AND_ASSIGN(Script script, write(*model, job));
  EXPECT_FALSE(script.module.is_training());
  EXPECT_FALSE(script.module.forward({at::ones({2, 2})}).toTensor().requires_grad());
  for (const auto& parameter : model->parameters()) EXPECT_TRUE(parameter.requires_grad());
}

TEST_F(ModelScriptTest, RefusesModelsThatItCannotRepeat) {
  const TrainConfig job = job_with_history();
  const std::pair<std::string, TestModel::Predict> cases[] = {
      {"it fails (shape '[3, 2, 4]' is invalid for input of size 8) for a batch of 1 examples",
       [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
         return output.pooled.view({batch.size, 2, 4}).sum(1).matmul(self.weight);
       }},
      {"it fails (shape '[3, 2, 4]' is invalid",  // the size of a tensor is a number, too
       [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
         return output.pooled.view({output.pooled.size(0), 2, 4}).sum(1).matmul(self.weight);
       }},
      {"it predicts something else for a batch of",  // ids are no input
       [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
         const double ids = static_cast<double>(batch.sparse.values.numel());
         return output.pooled.narrow(1, 0, 4).matmul(self.weight) + ids;
       }},
      {"it predicts something else for a batch of",  // the length of the longest traced list
       [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         ASSIGN_OR_RETURN(const EmbeddingOutput output, self.embeddings->forward(batch.sparse));
         ASSIGN_OR_RETURN(const JaggedRows jagged, output.jagged("0.history"));
         const at::Tensor longest = jagged.offsets.diff().max();
         ASSIGN_OR_RETURN(
             const PaddedRows history,
             output.padded("0.history", std::max<int64_t>(longest.item<int64_t>(), 1)));
         return history.rows.sum(1).matmul(self.weight);
       }},
      {"it predicts something else for a batch of",  // a branch
       [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         const at::Tensor sum = batch.dense.sum(1, true);
         return sum[0].item<float>() > 1 ? sum : -sum;
       }},
      {"predictions",
       [](TestModel&, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         return batch.dense.sum(1);
       }},
      {"predictions",  // two tasks for one label
       [](TestModel&, const Batch& batch) -> absl::StatusOr<at::Tensor> { return batch.dense; }},
      {"its predictions are of type Double",
       [](TestModel&, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         return batch.dense.sum(1, true).to(at::kDouble);
       }},
      {"no finite number",
       [](TestModel&, const Batch& batch) -> absl::StatusOr<at::Tensor> {
         return batch.dense.sum(1, true) / 0;
       }},
      {"no such thing",
       [](TestModel&, const Batch&) -> absl::StatusOr<at::Tensor> {
         return absl::InvalidArgumentError("no such thing");
       }},
  };
  for (const auto& [what, predict] : cases) {
    SCOPED_TRACE(what);
    const auto model = std::make_shared<TestModel>(job, predict);
    EXPECT_THAT(write(*model, job),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("making a script of the model"), HasSubstr(what))));
    EXPECT_FALSE(files_.info("model.pt").ok());
    // The collection performs lookups again.
    EXPECT_EQ(model->embeddings->forward(model_test_batch(1, 5, 3, 2).sparse)->pooled.size(0), 5);
  }
}

TEST_F(ModelScriptTest, RefusesNamesThatNoScriptCanHave) {
  const TrainConfig job = model_test_config(1, 1, 4);
  const TestModel::Predict predict = [](TestModel& self, const Batch& batch) {
    return absl::StatusOr<at::Tensor>(batch.dense * self.weight.sum());
  };
  for (const std::string name : {"in", "torch"}) {
    SCOPED_TRACE(name);
    const auto model = std::make_shared<TestModel>(job, predict);
    if (name == "torch") {
      model->register_module(
          name, EmbeddingCollection::create(model_test_resources(job).embeddings).value());
    } else {
      model->register_module(name, torch::nn::Linear(2, 2));
    }
    EXPECT_THAT(write(*model, job),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("name")));
  }
}

TEST_F(ModelScriptTest, AFullDiskIsAnError) {
  const TrainConfig job = model_test_config(2, 1, 4);
  ASSERT_OK_AND_ASSIGN(const auto model, make_test_model(named("deepfm"), job));
  for (const int64_t bytes : {0, 10, 1000, 5000}) {
    files_.set_capacity(bytes);
    EXPECT_THAT(write(*model, job), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_FALSE(files_.info("model.pt").ok());
  }
}

TEST_F(ModelScriptTest, WhatLibTorchThrowsIsAnError) {
  const TrainConfig job = model_test_config(1, 2, 4);
  const auto model = std::make_shared<TestModel>(
      job, [](TestModel& self, const Batch& batch) -> absl::StatusOr<at::Tensor> {
        return batch.dense.matmul(self.weight);
      });
  EXPECT_THAT(write(*model, job),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("script of the model"), HasSubstr("mat1 and mat2"))));
}

TEST_F(ModelScriptTest, AModelWithoutInputsHasNoScript) {
  const TrainConfig job = model_test_config(0, 0, 4);
  class Nothing : public Model {
    absl::StatusOr<ModelOutput> forward(const Batch&) override { return ModelOutput(); }
  };
  const auto model = std::make_shared<Nothing>();
  EXPECT_THAT(write(*model, job), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
