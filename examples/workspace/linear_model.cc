// A model.
#include <ATen/ops/cat.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "models/mlp.h"
#include "models/task_losses.h"

namespace visits {
namespace {

// One linear layer over the dense features and the pooled embeddings.
class LinearModel : public millrace::Model {
 public:
  static absl::StatusOr<std::shared_ptr<millrace::Model>> create(
      const millrace::ModelConfig&, const millrace::ModelResources& resources) {
    ASSIGN_OR_RETURN(millrace::TaskLosses tasks, millrace::TaskLosses::create(resources));
    auto model = std::make_shared<LinearModel>(std::move(tasks));
    ASSIGN_OR_RETURN(model->embeddings_,
                     millrace::EmbeddingCollection::create(resources.embeddings));
    const int64_t inputs = resources.schema.dense().size() + model->embeddings_->pooled_dim();
    model->layer_ = millrace::make_mlp(inputs, {}, model->tasks_.size());
    model->register_module("embeddings", model->embeddings_);
    model->register_module("layer", model->layer_);
    return model;
  }

  explicit LinearModel(millrace::TaskLosses tasks) : tasks_(std::move(tasks)) {}

  absl::StatusOr<millrace::ModelOutput> forward(const millrace::Batch& batch) override {
    ASSIGN_OR_RETURN(millrace::EmbeddingOutput rows, embeddings_->forward(batch.sparse));
    return tasks_.output(layer_->forward(at::cat({batch.dense, rows.pooled}, 1)), batch);
  }

  absl::StatusOr<std::vector<int64_t>> count_targets(const millrace::Batch& batch) override {
    return tasks_.count_targets(batch);
  }

 private:
  const millrace::TaskLosses tasks_;
  std::shared_ptr<millrace::EmbeddingCollection> embeddings_;
  torch::nn::Sequential layer_;
};

MILLRACE_REGISTER_MODEL(linear, &LinearModel::create, millrace::ModelLabels::kOfTasks);

}  // namespace
}  // namespace visits
