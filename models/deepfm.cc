#include "models/deepfm.h"

#include <ATen/ops/cat.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "models/mlp.h"

namespace millrace {
namespace {

constexpr int64_t kMaxDim = 4096;  // columns of a row, the limit of TableConfig.dim

std::vector<int64_t> deepfm_widths(const DeepFmConfig& config) {
  if (config.hidden().empty()) return {400, 400, 400};
  return {config.hidden().begin(), config.hidden().end()};
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> DeepFm::create(const ModelConfig& config,
                                                      const ModelResources& resources) {
  RETURN_IF_ERROR(check_only_message(config, "millrace.deepfm"));
  const DeepFmConfig& own = config.GetExtension(deepfm);
  ASSIGN_OR_RETURN(const ClickInputs inputs, check_click_inputs(resources));
  ASSIGN_OR_RETURN(TaskLosses tasks, TaskLosses::create(resources));
  const auto added = static_cast<int>(tasks.size());
  EmbeddingCollectionOptions options = resources.embeddings;
  options.added_columns = added;  // first-order weights
  for (TableConfig& table : options.tables) {
    if (table.dim() + added > kMaxDim) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table ", table.name(), ": dim is ", table.dim(), "; deepfm takes at most ",
          kMaxDim - added, ", since it adds a column", added > 1 ? " for each label" : ""));
    }
    table.set_dim(table.dim() + added);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<EmbeddingCollection> embeddings,
                   EmbeddingCollection::create(options));
  return std::shared_ptr<Model>(new DeepFm(inputs, own, std::move(embeddings), std::move(tasks)));
}

DeepFm::DeepFm(const ClickInputs& inputs, const DeepFmConfig& config,
               std::shared_ptr<EmbeddingCollection> embeddings, TaskLosses tasks)
    : inputs_(inputs),
      tasks_(std::move(tasks)),
      embeddings_(register_module("embeddings", std::move(embeddings))) {
  const int64_t outputs = tasks_.size();
  if (inputs_.dense > 0) {
    linear_ = register_module("linear", torch::nn::Linear(inputs_.dense, outputs));
  }
  mlp_ = register_module("mlp", make_mlp(inputs_.dense + inputs_.sparse * inputs_.dim,
                                         deepfm_widths(config), outputs, config.dropout()));
}

absl::StatusOr<ModelOutput> DeepFm::forward(const Batch& batch) {
  const int64_t dim = inputs_.dim;
  ASSIGN_OR_RETURN(const EmbeddingOutput looked_up, embeddings_->forward(batch.sparse));
  const at::Tensor rows = looked_up.pooled.unflatten(1, {inputs_.sparse, dim + tasks_.size()});
  const at::Tensor flat = rows.narrow(2, 0, dim).flatten(1);

  const at::Tensor sums = rows.sum(1);  // of the embeddings, and of the first-order weights
  const at::Tensor pairs = 0.5 * (sums.narrow(1, 0, dim).square().sum(1, /*keepdim=*/true) -
                                  flat.square().sum(1, /*keepdim=*/true));
  at::Tensor outputs = sums.narrow(1, dim, tasks_.size()) + pairs;
  if (inputs_.dense > 0) {
    outputs =
        outputs + linear_->forward(batch.dense) + mlp_->forward(at::cat({batch.dense, flat}, 1));
  } else {
    outputs = outputs + mlp_->forward(flat);
  }
  return tasks_.output(outputs, batch);
}

MILLRACE_REGISTER_MODEL(deepfm, "factorization machine and network over shared embeddings",
                        &DeepFm::create, ModelLabels::kOfTasks);

}  // namespace millrace
