#include "models/model_conformance.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model_registry.h"
#include "models/task_losses.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Fault {
  kNone,
  kFlatPredictions,
  kAnotherFormula,
  kDoublesGradients,
  kDoublesTableGradients,
  kIgnoresTheSeed,
  kEvaluatesAtRandom,
  kLearnsTheFirstTask,
};

// The fault of FaultyModel. A global variable, because the suite creates models by name.
Fault fault = Fault::kNone;

// Returns `value` with twice the gradient.
at::Tensor doubled_gradient(const at::Tensor& value) { return value * 2 - value.detach(); }

// A linear model: the dense features and the sums of the pooled rows, with a weight for each task.
class FaultyModel : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig&,
                                                       const ModelResources& resources) {
    ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
    ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingCollection> embeddings,
                     EmbeddingCollection::create(resources.embeddings));
    return std::shared_ptr<Model>(
        new FaultyModel(static_cast<int64_t>(resources.schema.dense().size()),
                        std::move(embeddings), std::move(tasks)));
  }

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ASSIGN_OR_RETURN(const EmbeddingOutput rows, embeddings_->forward(batch.sparse));
    at::Tensor pooled = rows.pooled;
    if (fault == Fault::kDoublesTableGradients) pooled = doubled_gradient(pooled);
    at::Tensor outputs = at::mm(batch.dense, weight_) + pooled.sum(1, /*keepdim=*/true);
    if (fault == Fault::kAnotherFormula) outputs = outputs + 0.01;
    if (fault == Fault::kEvaluatesAtRandom) outputs = outputs + at::rand({1}) * 1e-6;
    ModelOutput output = tasks_.output(outputs, batch);
    if (fault == Fault::kFlatPredictions) output.predictions = output.predictions.flatten();
    if (fault == Fault::kDoublesGradients) output.loss = doubled_gradient(output.loss);
    if (fault == Fault::kLearnsTheFirstTask && output.loss.dim() == 1) {
      output.loss = output.loss * at::tensor({1.0f, 0.0f});
    }
    return output;
  }
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  FaultyModel(int64_t dense, std::shared_ptr<EmbeddingCollection> embeddings, TaskLosses tasks)
      : tasks_(std::move(tasks)),
        embeddings_(register_module("embeddings", std::move(embeddings))),
        weight_(register_parameter("weight", at::empty({dense, tasks_.size()}))) {
    const at::NoGradGuard no_gradients;
    weight_.uniform_(-1, 1);
    if (fault == Fault::kIgnoresTheSeed) weight_.fill_(0.5);
  }

  TaskLosses tasks_;
  std::shared_ptr<EmbeddingCollection> embeddings_;
  at::Tensor weight_;
};

MILLRACE_REGISTER_MODEL(faulty_model, &FaultyModel::create, ModelLabels::kOfTasks);

double plain_logit(const Model& model, const at::Tensor& pooled, const Batch& batch, int64_t e) {
  const at::Tensor weight = model.named_parameters()["weight"].detach();
  double logit = pooled[e].sum().item<double>();
  for (int64_t d = 0; d < weight.size(0); ++d) {
    logit += batch.dense[e][d].item<double>() * weight[d][0].item<double>();
  }
  return logit;
}

std::vector<std::string> failing(Fault of_model) {
  fault = of_model;
  return failing_properties(model_properties({.config =
                                                  [] {
                                                    ModelConfig config;
                                                    config.set_name("faulty_model");
                                                    return config;
                                                  },
                                              .plain_logit = plain_logit}));
}

TEST(ModelConformanceTest, EachFaultFailsItsProperty) {
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kFlatPredictions), Contains("HasOutputsOfTheBatch"));
  EXPECT_THAT(failing(Fault::kAnotherFormula), Contains("EqualsItsFormula"));
  EXPECT_THAT(failing(Fault::kDoublesGradients), Contains("HasTheGradientsOfItsLoss"));
  EXPECT_THAT(failing(Fault::kDoublesTableGradients), ElementsAre("HasTheGradientsOfItsTables"));
  EXPECT_THAT(failing(Fault::kIgnoresTheSeed), ElementsAre("FollowsFromTheSeed"));
  EXPECT_THAT(failing(Fault::kEvaluatesAtRandom), Contains("EvaluatesWithoutAChange"));
  EXPECT_THAT(failing(Fault::kLearnsTheFirstTask), ElementsAre("LearnsEachTask"));
}

}  // namespace
}  // namespace millrace
