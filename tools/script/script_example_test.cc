#include "tools/script/script_example.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

class TwoCollections : public Model {
 public:
  TwoCollections(const TrainConfig& first, const TrainConfig& second) {
    const auto make = [](const TrainConfig& job) {
      return EmbeddingCollection::create(model_test_resources(job).embeddings).value();
    };
    shared = register_module("users", make(first));
    register_module("again", shared);
    register_module("dense", make(second));
  }
  absl::StatusOr<ModelOutput> forward(const Batch&) override { return ModelOutput(); }

  std::shared_ptr<EmbeddingCollection> shared;
};

TrainConfig job_with_lists() {
  TrainConfig job = model_test_config(2, 1, 4);
  job.mutable_feature(1)->set_pooling(NONE);
  job.mutable_feature(1)->set_max_ids(2);
  return job;
}

std::vector<std::string> names(const std::vector<ScriptInput>& inputs) {
  std::vector<std::string> names;
  for (const ScriptInput& input : inputs) names.push_back(input.name + " " + input.type_text());
  return names;
}

TEST(ScriptExampleTest, InputsHaveNamesOfTheirOwnAndCollectionsComeOnce) {
  const TrainConfig job = job_with_lists();
  const TwoCollections model(job, job);
  EXPECT_THAT(names(script_inputs(model, model_test_resources(job).schema)),
              ElementsAre("dense float32 [batch, 1]", "users float32 [batch, 4]",
                          "s1_rows float32 [ids, 4]", "s1_offsets int64 [batch + 1]",
                          "dense_2 float32 [batch, 4]", "s1_rows_2 float32 [ids, 4]",
                          "s1_offsets_2 int64 [batch + 1]"));
}

TEST(ScriptExampleTest, TensorsFitTogether) {
  const TrainConfig job = job_with_lists();
  // A feature that the job lacks has one id per list.
  const TwoCollections model(job, model_test_config(1, 0, 3));
  const FeatureSchema schema = model_test_resources(job).schema;
  const std::vector<ScriptInput> inputs = script_inputs(model, schema);
  for (const int64_t size : {1, 2, 50}) {
    const ScriptExample example =
        make_script_example(inputs, schema, {.size = size, .most_ids = 5, .seed = 1});
    ASSERT_EQ(example.inputs.size(), 5);
    EXPECT_TRUE(example.inputs[0].is_same(example.batch.dense));
    EXPECT_EQ(example.inputs[1].sizes(), at::IntArrayRef({size, 4}));
    const at::Tensor lengths = example.inputs[3].diff();
    EXPECT_EQ(lengths.numel(), size);
    EXPECT_LE(lengths.max().item<int64_t>(), 2) << "max_ids";
    EXPECT_EQ(example.inputs[3][0].item<int64_t>(), 0);
    EXPECT_EQ(example.inputs[3][size].item<int64_t>(), example.inputs[2].size(0));
    EXPECT_EQ(example.inputs[4].sizes(), at::IntArrayRef({size, 3}));
    EXPECT_EQ(example.batch.labels.sizes(), at::IntArrayRef({size, 1}));
    EXPECT_EQ(example.batch.sparse.offsets.numel(), 2 * size + 1);
    EXPECT_EQ(example.batch.sparse.values.numel(),
              example.batch.sparse.offsets[2 * size].item<int64_t>());
  }
}

TEST(ScriptExampleTest, StandInsLeaveTheModelAsItWas) {
  const TrainConfig job = model_test_config(1, 0, 4);
  const auto model = std::make_shared<TwoCollections>(job, job);
  const FeatureSchema schema = model_test_resources(job).schema;
  const std::vector<ScriptInput> inputs = script_inputs(*model, schema);
  ScriptExample example =
      make_script_example(inputs, schema, {.size = 3, .most_ids = 1, .seed = 1});
  {
    const StandIns stand_ins(*model, inputs, example.inputs, example.batch);
    EXPECT_TRUE(model->shared->forward({})->pooled.is_same(example.inputs[0]));
    EXPECT_EQ(example.batch.dense.sizes(), at::IntArrayRef({3, 0}));
  }
  EXPECT_FALSE(model->shared->forward({}).ok()) << "it looks up again";
}

}  // namespace
}  // namespace millrace
