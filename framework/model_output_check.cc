#include "framework/model_output_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

bool is_number(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

// Checks that a reduced precision ends before `tensor`.
absl::Status check_type(absl::string_view what, const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (type != at::kHalf && type != at::kBFloat16) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the model's ", what, " is ", c10::toString(type),
                                                 "; compute it from logits.to(at::kFloat)"));
}

}  // namespace

absl::Status check_model_output(const ModelOutput& output, const Batch& batch) {
  if (!is_number(output.loss)) {
    return absl::InvalidArgumentError(
        "the model's loss is not one number: return the sum over the batch's examples");
  }
  RETURN_IF_ERROR(check_type("loss", output.loss));
  if (!output.predictions.defined() || output.predictions.dim() != 2 ||
      output.predictions.size(0) != batch.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model's predictions are not [batch, tasks] with batch = ", batch.size));
  }
  RETURN_IF_ERROR(check_type("tensor of predictions", output.predictions));
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
