#include "framework/loop/anomaly_watch.h"

#include <ATen/ATen.h>

#include <cmath>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace millrace {
namespace {

// The object of this thread; null: none. The callbacks of LibTorch are plain functions.
thread_local AnomalyWatch* watch_of_thread = nullptr;

bool is_finite(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.numel() == 0) return true;
  return at::isfinite(tensor).all().item<bool>();
}

// Returns true if all tensors in `value`, also in lists, are finite.
bool is_finite(const c10::IValue& value) {
  if (value.isTensor()) return is_finite(value.toTensor());
  // Such as the fill of a mask.
  if (value.isDouble()) return std::isfinite(value.toDouble());
  if (!value.isTensorList()) return true;
  for (const at::Tensor& tensor : value.toTensorVector()) {
    if (!is_finite(tensor)) return false;
  }
  return true;
}

template <typename Values>
bool all_finite(const Values& values) {
  for (const c10::IValue& value : values) {
    if (!is_finite(value)) return false;
  }
  return true;
}

bool has_tensor(c10::ArrayRef<const c10::IValue> values) {
  for (const c10::IValue& value : values) {
    if ((value.isTensor() && value.toTensor().defined()) || value.isTensorList()) return true;
  }
  return false;
}

}  // namespace

struct AnomalyWatch::Call : at::ObserverContext {
  bool inputs_finite = false;
  bool is_backward = false;
};

AnomalyWatch::AnomalyWatch(absl::Span<const NamedParameter> parameters) : parameters_(parameters) {
  MILLRACE_CHECK(watch_of_thread == nullptr) << "a thread has two anomaly watches";
  watch_of_thread = this;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&begin_call, &end_call)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

AnomalyWatch::~AnomalyWatch() {
  at::removeCallback(callback_);
  watch_of_thread = nullptr;
}

std::unique_ptr<at::ObserverContext> AnomalyWatch::begin_call(const at::RecordFunction& function) {
  auto call = std::make_unique<Call>();
  AnomalyWatch* const watch = watch_of_thread;
  if (watch == nullptr) return call;
  call->is_backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  // Such as "autograd::engine::evaluate_function: SqrtBackward0".
  const absl::string_view name = function.name();
  if (call->is_backward) watch->backward_.emplace_back(name.substr(name.rfind(' ') + 1));
  if (!watch->first_.empty()) return call;
  const at::DisableRecordFunctionGuard own;  // reading the inputs are operations, too
  watch->note_parameters(function);
  call->inputs_finite = has_tensor(function.inputs()) && all_finite(function.inputs());
  return call;
}

void AnomalyWatch::end_call(const at::RecordFunction& function, at::ObserverContext* context) {
  AnomalyWatch* const watch = watch_of_thread;
  if (watch == nullptr || context == nullptr) return;
  const auto& call = static_cast<const Call&>(*context);
  watch->note_result(function, call.inputs_finite);
  if (call.is_backward && !watch->backward_.empty()) watch->backward_.pop_back();
}

void AnomalyWatch::note_result(const at::RecordFunction& function, bool inputs_finite) {
  const absl::string_view name = function.name();
  // These return memory that nobody has written.
  const bool is_unset = absl::StrContains(name, "empty") || absl::StrContains(name, "resize_");
  if (!first_.empty() || !inputs_finite || is_unset) return;
  const at::DisableRecordFunctionGuard own;
  if (all_finite(function.outputs())) return;
  first_ = std::string(name);
  if (!backward_.empty()) absl::StrAppend(&first_, " of ", backward_.back());
  if (!parameter_.empty()) absl::StrAppend(&first_, ", after the parameter ", parameter_);
}

// Finds the parameter that an operation reads, also through a view of it.
void AnomalyWatch::note_parameters(const at::RecordFunction& function) {
  for (const c10::IValue& value : function.inputs()) {
    if (!value.isTensor() || !value.toTensor().defined() || !value.toTensor().has_storage()) {
      continue;
    }
    for (const NamedParameter& parameter : parameters_) {
      if (!value.toTensor().storage().is_alias_of(parameter.value.storage())) continue;
      parameter_ = parameter.name;
    }
  }
}

}  // namespace millrace
