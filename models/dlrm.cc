#include "models/dlrm.h"

#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/tril_indices.h>

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "models/mlp.h"

namespace millrace {
namespace {

std::vector<int64_t> bottom_widths(const DlrmConfig& config) {
  if (config.bottom().empty()) return {512, 256, 64};
  return {config.bottom().begin(), config.bottom().end()};
}

std::vector<int64_t> top_widths(const DlrmConfig& config) {
  if (config.top().empty()) return {512, 256};
  return {config.top().begin(), config.top().end()};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> Dlrm::create(const ModelConfig& config,
                                                    const ModelResources& resources) {
  RETURN_IF_ERROR(check_only_message(config, "millrace.dlrm"));
  const DlrmConfig& own = config.GetExtension(dlrm);
  ASSIGN_OR_RETURN(const ClickInputs inputs, check_click_inputs(resources));
  if (inputs.dense == 0) {
    return absl::InvalidArgumentError(
        "it needs at least one dense feature; without any, deepfm is a choice");
  }
  ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingCollection> embeddings,
                   EmbeddingCollection::create(resources.embeddings));
  ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
  return std::shared_ptr<Model>(new Dlrm(inputs, own, std::move(embeddings), std::move(tasks)));
}

Dlrm::Dlrm(const ClickInputs& inputs, const DlrmConfig& config,
           std::shared_ptr<EmbeddingCollection> embeddings, TaskLosses tasks)
    : inputs_(inputs),
      tasks_(std::move(tasks)),
      embeddings_(register_module("embeddings", std::move(embeddings))) {
  std::vector<int64_t> bottom = bottom_widths(config);
  bottom.push_back(inputs_.dim);
  const int64_t vectors = inputs_.sparse + 1;
  const at::Tensor indices = at::tril_indices(vectors, vectors, /*offset=*/-1, at::kLong);
  pairs_ = register_buffer("pairs", indices.select(0, 0) * vectors + indices.select(0, 1));
  bottom_ = register_module("bottom", make_mlp(inputs_.dense, bottom, 0));
  top_ = register_module("top",
                         make_mlp(inputs_.dim + pairs_.size(0), top_widths(config), tasks_.size()));
}

absl::StatusOr<ModelOutput> Dlrm::forward(const Batch& batch) {
  ASSIGN_OR_RETURN(const EmbeddingOutput looked_up, embeddings_->forward(batch.sparse));
  const int64_t vectors = inputs_.sparse + 1;
  const at::Tensor dense = bottom_->forward(batch.dense);
  const at::Tensor z = at::cat({dense, looked_up.pooled}, 1).unflatten(1, {vectors, inputs_.dim});
  const at::Tensor dots = at::bmm(z, z.transpose(1, 2)).flatten(1);
  const at::Tensor outputs = top_->forward(at::cat({dense, dots.index_select(1, pairs_)}, 1));
  return tasks_.output(outputs, batch);
}

MILLRACE_REGISTER_MODEL(dlrm, "pairwise interactions of embeddings and dense features",
                        &Dlrm::create, ModelLabels::kOfTasks);

}  // namespace millrace
