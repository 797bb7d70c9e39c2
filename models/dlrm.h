// DLRM.
#ifndef MILLRACE_MODELS_DLRM_H_
#define MILLRACE_MODELS_DLRM_H_

#include <torch/nn/modules/container/sequential.h>

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

// Dot products between embeddings and one projection of the dense features (Naumov et al., "Deep
// learning recommendation model for personalization and recommendation systems", 2019), with one
// output for each task (models/task_losses.h). With v_f the embedding of sparse feature f (pooled,
// float32 [dim]) and x the dense features:
//
//   z_0 = bottom(x), z_f = v_f
//   outputs = top([z_0, z_i . z_j for all i > j])
//
// `bottom` ends with dim columns and ReLU, `top` with one column per task and no activation.
//
// Parameters: "bottom.*", "top.*"; the collection is "embeddings". Buffer: "pairs".
// Registered as "dlrm"; its message is DlrmConfig.
class Dlrm : public Model {
 public:
  // Creates the model, shared because LibTorch holds modules by shared pointers. Errors:
  // InvalidArgument, naming features, tables or fields, as check_click_inputs() or for no dense
  // feature or widths out of range; as TaskLosses::create().
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig& config,
                                                       const ModelResources& resources);

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override;
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  Dlrm(const ClickInputs& inputs, const DlrmConfig& config,
       std::shared_ptr<EmbeddingCollection> embeddings, TaskLosses tasks);

  const ClickInputs inputs_;
  const TaskLosses tasks_;
  std::shared_ptr<EmbeddingCollection> embeddings_;  // shared with the list of submodules
  torch::nn::Sequential bottom_;
  torch::nn::Sequential top_;
  // int64 [pairs]: places of the dot products with i > j in the flattened square of all dot
  // products.
  at::Tensor pairs_;
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_DLRM_H_
