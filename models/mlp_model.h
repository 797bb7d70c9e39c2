// A network over dense features alone.
#ifndef MILLRACE_MODELS_MLP_MODEL_H_
#define MILLRACE_MODELS_MLP_MODEL_H_

#include <torch/nn/modules/container/sequential.h>

#include <memory>

#include "framework/model.h"
#include "framework/model_registry.h"
#include "proto/model_configs.pb.h"

namespace millrace {

// A multilayer perceptron over the dense features x of an example, for one binary task; without
// hidden layers it is logistic regression:
//
//   logit = mlp(x)
//
// It has no tables, so it trains over any number of ranks, and is the baseline that tables have
// to beat. Parameters: "mlp.*". Registered as "mlp"; its message is MlpConfig.
class MlpModel : public Model {
 public:
  // Shared, as LibTorch holds modules.
  // Errors: InvalidArgument, naming features or fields, for another number of labels than one, no
  // dense feature, a sparse feature, widths and dropout out of range.
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources);

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;

 private:
  MlpModel(int64_t inputs, const MlpConfig& config);

  torch::nn::Sequential mlp_;
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_MLP_MODEL_H_
