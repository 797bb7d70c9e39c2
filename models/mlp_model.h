// A network over dense features only.
#ifndef MILLRACE_MODELS_MLP_MODEL_H_
#define MILLRACE_MODELS_MLP_MODEL_H_

#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "models/task_losses.h"
#include "proto/model_configs.pb.h"

namespace millrace {

// A multilayer perceptron over the dense features x of an example, with one output for each task
// (models/task_losses.h). Without hidden layers and with binary cross entropy, the model is a
// logistic regression:
//
//   outputs = mlp(x)
//
// The model has no tables. It is the baseline for models with tables. Parameters: "mlp.*".
// Registered as "mlp"; its message is MlpConfig.
class MlpModel : public Model {
 public:
  // Creates the model, shared because LibTorch holds modules by shared pointers. Errors:
  // InvalidArgument, naming features or fields, for no dense feature, a sparse feature, widths and
  // dropout out of range; as TaskLosses::create().
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources);

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  MlpModel(int64_t inputs, const MlpConfig& config, TaskLosses tasks);

  const TaskLosses tasks_;
  torch::nn::Sequential mlp_;
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_MLP_MODEL_H_
