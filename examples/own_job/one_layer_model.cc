// A model.
#include <ATen/ops/cat.h>

#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "models/mlp.h"
#include "models/task_losses.h"

namespace millrace {

// One hidden layer over the dense features and the pooled embeddings.
class OneLayer : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig&,
                                                       const ModelResources& resources) {
    ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
    auto model = std::make_shared<OneLayer>(std::move(tasks));
    ASSIGN_OR_RETURN(model->embeddings_, EmbeddingCollection::create(resources.embeddings));
    const int64_t inputs = resources.schema.dense().size() + model->embeddings_->pooled_dim();
    model->layers_ = make_mlp(inputs, {64}, model->tasks_.size());
    model->register_module("embeddings", model->embeddings_);
    model->register_module("layers", model->layers_);
    return model;
  }

  explicit OneLayer(TaskLosses tasks) : tasks_(std::move(tasks)) {}

  absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
    ASSIGN_OR_RETURN(EmbeddingOutput rows, embeddings_->forward(batch.sparse));
    return tasks_.output(layers_->forward(at::cat({batch.dense, rows.pooled}, 1)), batch);
  }

  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  const TaskLosses tasks_;
  std::shared_ptr<EmbeddingCollection> embeddings_;
  torch::nn::Sequential layers_;
};
MILLRACE_REGISTER_MODEL(one_layer, "one hidden layer over features and embeddings",
                        &OneLayer::create, ModelLabels::kOfTasks);

}  // namespace millrace
