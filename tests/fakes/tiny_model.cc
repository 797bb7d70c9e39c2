#include "tests/fakes/tiny_model.h"

#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

TinyModel::TinyModel(int64_t dense, std::shared_ptr<EmbeddingCollection> collection) {
  weight_ =
      register_parameter("weight", torch::linspace(-0.5, 0.5, dense).view({dense, 1}).clone());
  bias_ = register_parameter("bias", torch::zeros({1}));
  if (collection != nullptr) collection_ = register_module("tables", std::move(collection));
}

absl::StatusOr<ModelOutput> TinyModel::forward(const Batch& batch) {
  if (on_forward) RETURN_IF_ERROR(on_forward(batch));
  // The product has a reduced precision under autocast.
  at::Tensor logits = torch::addmm(bias_, batch.dense, weight_).to(torch::kFloat);
  if (collection_ != nullptr) {
    ASSIGN_OR_RETURN(const EmbeddingOutput output, collection_->forward(batch.sparse));
    if (on_pooled_gradient && output.pooled.requires_grad()) {
      output.pooled.register_hook(on_pooled_gradient);
    }
    logits = logits + output.pooled.sum(1, /*keepdim=*/true);
  }
  if (counts_targets) logits = logits * torch::arange(1, batch.labels.size(1) + 1);
  ModelOutput output;
  output.loss = loss(logits, batch);
  output.predictions = logits.sigmoid();
  if (gives_targets) output.targets = torch::scalar_tensor(batch.size / 2.0);
  output.metrics.push_back({"mean_logit", logits.mean()});
  if (on_output) on_output(output);
  return output;
}

absl::StatusOr<std::vector<int64_t>> TinyModel::count_targets(const Batch& batch) {
  std::vector<int64_t> targets;
  for (int64_t task = 0; counts_targets && task < batch.labels.size(1); ++task) {
    targets.push_back(batch.labels.select(1, task).isnan().logical_not().sum().item<int64_t>());
  }
  return targets;
}

absl::StatusOr<std::vector<TableLookup>> TinyModel::lookups(const Batch& batch) {
  ASSIGN_OR_RETURN(std::vector<TableLookup> lookups, Model::lookups(batch));
  if (on_lookups) RETURN_IF_ERROR(on_lookups(lookups));
  return lookups;
}

at::Tensor TinyModel::loss(const at::Tensor& logits, const Batch& batch) const {
  if (!counts_targets) {
    return torch::binary_cross_entropy_with_logits(logits, batch.labels, {}, {},
                                                   at::Reduction::Sum);
  }
  const at::Tensor known = batch.labels.isnan().logical_not();
  const at::Tensor losses = torch::binary_cross_entropy_with_logits(
      logits, batch.labels.nan_to_num(), {}, {}, at::Reduction::None);
  return (losses * known).sum(0);
}

std::string fingerprint(torch::nn::Module& module) {
  std::string bytes;
  for (const at::Tensor& tensor : module.parameters()) {
    const at::Tensor flat = tensor.detach().contiguous();
    bytes.append(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
  }
  for (const std::shared_ptr<torch::nn::Module>& part : module.modules()) {
    auto* collection = dynamic_cast<EmbeddingCollection*>(part.get());
    if (collection == nullptr) continue;
    for (const auto& table : collection->tables()) {
      const absl::uint128 digest = table->content().digest();
      absl::StrAppend(&bytes, table->name(), ":", absl::Uint128High64(digest), ":",
                      absl::Uint128Low64(digest), ":", table->maintenance().statistics().rows);
    }
  }
  return bytes;
}

}  // namespace millrace
