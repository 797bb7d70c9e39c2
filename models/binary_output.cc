#include "models/binary_output.h"

#include "losses/example_losses.h"

namespace millrace {

ModelOutput binary_output(const at::Tensor& computed, const Batch& batch) {
  const at::Tensor logits = computed.to(at::kFloat);  // under autocast it has a reduced precision
  const BinaryCrossEntropyLoss loss({});
  ModelOutput output;
  output.loss = loss.sum(logits, {batch.labels.select(1, 0), batch.weights, batch.group_ids});
  output.predictions = loss.predict(logits.detach()).unsqueeze(1);
  return output;
}

}  // namespace millrace
