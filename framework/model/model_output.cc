#include "framework/model/model_output.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

bool is_number(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() == 1; }

// Checks that reduced precision ends before `tensor`.
absl::Status check_type(absl::string_view what, const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  if (type != at::kHalf && type != at::kBFloat16) return absl::OkStatus();
  return wrong_result(absl::StrCat("the model's ", what, " is ", c10::toString(type),
                                   "; compute it from logits.to(at::kFloat)"));
}

// Checks the loss and targets of a model that counts targets.
absl::Status check_counted(const ModelOutput& output, size_t counted) {
  const at::Tensor& loss = output.loss;
  if (!loss.defined() || loss.dim() != 1 || loss.size(0) != static_cast<int64_t>(counted)) {
    return wrong_result(
        absl::StrCat("the model counts targets of ", counted,
                     " tasks, but its loss is not [tasks]: return the sum of each task"));
  }
  if (output.targets.defined()) {
    return wrong_result(
        "the model counts targets (count_targets), so it must leave ModelOutput::targets "
        "undefined");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_model_output(const ModelOutput& output, const Batch& batch, size_t counted) {
  if (counted > 0) RETURN_IF_ERROR(check_counted(output, counted));
  if (counted == 0 && !is_number(output.loss)) {
    return wrong_result(
        "the model's loss is not one number: return the sum over the batch's examples");
  }
  RETURN_IF_ERROR(check_type("loss", output.loss));
  if (!output.predictions.defined() || output.predictions.dim() != 2 ||
      output.predictions.size(0) != batch.size) {
    return wrong_result(
        absl::StrCat("the model's predictions are not [batch, tasks] with batch = ", batch.size));
  }
  RETURN_IF_ERROR(check_type("tensor of predictions", output.predictions));
  // Metrics pair column i of the predictions with label i.
  if (batch.labels.defined() && batch.labels.dim() == 2 &&
      batch.labels.size(1) != output.predictions.size(1)) {
    return wrong_result(absl::StrCat("the model's predictions have ", output.predictions.size(1),
                                     " columns, but there are ", batch.labels.size(1), " labels"));
  }
  if (output.targets.defined() && !is_number(output.targets)) {
    return wrong_result(
        "the model's targets are not one number: return what the summed loss is divided by");
  }
  for (const NamedValue& metric : output.metrics) {
    if (!is_number(metric.value)) {
      return wrong_result(
          absl::StrCat("the model's metric \"", metric.name, "\" is not one number"));
    }
    if (metric.weight.defined() && !is_number(metric.weight)) {
      return wrong_result(
          absl::StrCat("the weight of the model's metric \"", metric.name, "\" is not one number"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> count_targets(Model& model, const Batch& batch) {
  absl::StatusOr<std::vector<int64_t>> targets = absl::InternalError("the model was not called");
  RETURN_IF_ERROR(catch_part_exceptions("the model's count of targets", [&] {
    targets = model.count_targets(batch);
    return as_part_failure(targets.status());
  }));
  const int64_t labels =
      batch.labels.defined() && batch.labels.dim() == 2 ? batch.labels.size(1) : 0;
  if (!targets->empty() && static_cast<int64_t>(targets->size()) != labels) {
    return wrong_result(absl::StrCat("the model counts targets of ", targets->size(),
                                     " tasks, but there are ", labels, " labels"));
  }
  for (const int64_t count : *targets) {
    if (count >= 0) continue;
    return wrong_result(
        absl::StrCat("the model counts ", count, " targets of a task; must be at least 0"));
  }
  return targets;
}

at::Tensor target_factors(absl::Span<const int64_t> targets) {
  at::Tensor factors = at::empty({static_cast<int64_t>(targets.size())}, at::kFloat);
  float* const factor = factors.data_ptr<float>();
  for (size_t task = 0; task < targets.size(); ++task) {
    factor[task] =
        targets[task] > 0 ? static_cast<float>(1.0 / static_cast<double>(targets[task])) : 0;
  }
  return factors;
}

namespace {

at::Tensor weight_of(const StepValue& value) {
  return value.weight.defined() ? value.weight : at::ones_like(value.value);
}

// Returns the weighted sum of the values behind a mean.
at::Tensor weighted(const StepValue& value) {
  if (!value.weight.defined()) return value.value;
  return at::where(value.weight == 0, at::zeros_like(value.value), value.value * value.weight);
}

// Adds a value of the same name to `into`.
void merge(const StepValue& from, StepValue& into) {
  switch (into.reduction) {
    case Reduction::kMean: {
      const at::Tensor sum = weighted(into) + weighted(from);
      into.weight = weight_of(into) + weight_of(from);
      into.value = sum / into.weight;
      break;
    }
    case Reduction::kSum: into.value = into.value + from.value; break;
    case Reduction::kMin: into.value = at::minimum(into.value, from.value); break;
    case Reduction::kMax: into.value = at::maximum(into.value, from.value); break;
    case Reduction::kLast: into.value = from.value; break;
  }
}

}  // namespace

std::vector<StepValue> step_values(std::vector<NamedValue> reported) {
  std::vector<StepValue> values;
  for (NamedValue& named : reported) {
    StepValue value{std::move(named.name), named.value.detach(), named.reduction};
    if (named.reduction == Reduction::kMean && named.weight.defined()) {
      value.weight = named.weight.detach();
    }
    const auto place = std::find_if(values.begin(), values.end(),
                                    [&](const auto& other) { return other.name == value.name; });
    if (place == values.end()) {
      values.push_back(std::move(value));
    } else {
      merge(value, *place);
    }
  }
  return values;
}

}  // namespace millrace
