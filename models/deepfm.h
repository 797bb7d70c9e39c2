// DeepFM.
#ifndef MILLRACE_MODELS_DEEPFM_H_
#define MILLRACE_MODELS_DEEPFM_H_

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "models/click_inputs.h"
#include "models/task_losses.h"
#include "proto/model_configs.pb.h"

namespace millrace {

// A factorization machine and a deep network over the same embeddings (Guo et al., "DeepFM: A
// factorization-machine based neural network for CTR prediction", IJCAI 2017), with one output for
// each task (models/task_losses.h). With v_f the embedding of sparse feature f (pooled, float32
// [dim]), w_f its first-order weights, one for each task, and x the dense features:
//
//   outputs = sum_f w_f + linear(x)                              first order
//           + 1/2 sum_columns ((sum_f v_f)^2 - sum_f v_f^2)      all pairs of features, of all
//           tasks
//           + mlp([x, v_1, ..., v_n])
//
// w_f is looked up together with v_f: the model appends one column per task to every table, so that
// with one task a table configured with dim 16 has rows of 17 columns. The added columns have the
// initial values of the table, even if a file provides the other 16 columns.
//
// Parameters: "linear.*" (only with dense features), "mlp.*"; the collection is "embeddings".
// Registered as "deepfm"; its message is DeepFmConfig.
class DeepFm : public Model {
 public:
  // Creates the model, shared because LibTorch holds modules by shared pointers. Errors:
  // InvalidArgument, naming features, tables or fields, as check_click_inputs() or for widths and
  // dropout out of range; as TaskLosses::create().
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources);

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  DeepFm(const ClickInputs& inputs, const DeepFmConfig& config,
         std::shared_ptr<EmbeddingCollection> embeddings, TaskLosses tasks);

  const ClickInputs inputs_;
  const TaskLosses tasks_;
  std::shared_ptr<EmbeddingCollection> embeddings_;  // shared with the list of submodules
  torch::nn::Linear linear_{nullptr};                // null without dense features
  torch::nn::Sequential mlp_;
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_DEEPFM_H_
