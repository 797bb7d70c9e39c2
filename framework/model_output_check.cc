#include "framework/model_output_check.h"

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

bool is_number(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

}  // namespace

absl::Status check_model_output(const ModelOutput& output, const Batch& batch) {
  if (!is_number(output.loss)) {
    return absl::InvalidArgumentError(
        "the model's loss is not one number: return the sum over the batch's examples");
  }
  if (!output.predictions.defined() || output.predictions.dim() != 2 ||
      output.predictions.size(0) != batch.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's predictions are not [batch, tasks] with batch = ", batch.size));
  }
  if (batch.labels.defined() && batch.labels.dim() == 2 &&
      batch.labels.size(1) != output.predictions.size(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's predictions have ", output.predictions.size(1),
                     " columns, but there are ", batch.labels.size(1), " labels"));
  }
  if (output.targets.defined() && !is_number(output.targets)) {
    return absl::InvalidArgumentError(
        "the model's targets are not one number: return what the summed loss is divided by");
  }
  for (const NamedValue& metric : output.metrics) {
    if (!is_number(metric.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model's metric \"", metric.name, "\" is not one number"));
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
