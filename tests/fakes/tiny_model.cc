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
  // Under autocast the product has a reduced precision.
  at::Tensor logits = torch::addmm(bias_, batch.dense, weight_).to(torch::kFloat);
  if (collection_ != nullptr) {
    ASSIGN_OR_RETURN(const EmbeddingOutput output, collection_->forward(batch.sparse));
    if (on_pooled_gradient && output.pooled.requires_grad()) {
      output.pooled.register_hook(on_pooled_gradient);
    }
    logits = logits + output.pooled.sum(1, /*keepdim=*/true);
  }
  ModelOutput output;
  output.loss =
      torch::binary_cross_entropy_with_logits(logits, batch.labels, {}, {}, at::Reduction::Sum);
  output.predictions = logits.sigmoid();
  if (gives_targets) output.targets = torch::scalar_tensor(batch.size / 2.0);
  output.metrics.push_back({"mean_logit", logits.mean()});
  if (on_output) on_output(output);
  return output;
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
