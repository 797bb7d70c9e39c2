#include "models/binary_output.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/to.h>

#include <optional>

namespace millrace {

ModelOutput binary_output(const at::Tensor& computed, const Batch& batch) {
  const at::Tensor logits = computed.to(at::kFloat);  // under autocast it has a reduced precision
  ModelOutput output;
  const std::optional<at::Tensor> weights =
      batch.weights.defined() ? std::optional<at::Tensor>(batch.weights) : std::nullopt;
  output.loss = at::binary_cross_entropy_with_logits(logits, batch.labels.select(1, 0), weights,
                                                     /*pos_weight=*/{}, at::Reduction::Sum);
  output.predictions = at::sigmoid(logits.detach()).unsqueeze(1);
  return output;
}

}  // namespace millrace
