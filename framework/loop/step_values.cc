#include "framework/loop/step_values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace millrace {
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
