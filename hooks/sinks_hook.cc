#include "hooks/sinks_hook.h"

#include <algorithm>
#include <utility>

#include "base/catch_exceptions.h"
#include "base/log.h"
#include "hooks/inspect/tensor_distribution.h"

namespace millrace {

SinksHook::SinksHook(std::vector<NamedSink> sinks) {
  for (NamedSink& named : sinks) sinks_.push_back({.named = std::move(named)});
}

void SinksHook::call(absl::FunctionRef<absl::Status(Sink&)> call) {
  for (Entry& entry : sinks_) {
    if (entry.failed) continue;
    const absl::Status status = catch_exceptions([&] { return call(*entry.named.sink); });
    if (status.ok()) continue;
    entry.failed = true;
    MILLRACE_LOG(WARNING) << "sink " << entry.named.name
                          << " is switched off for the rest of the run: " << status;
  }
}

absl::Status SinksHook::start(HookContext& context) {
  for (Entry& entry : sinks_) entry.failed = false;
  call([&](Sink& sink) { return sink.start(context.progress().step); });
  return absl::OkStatus();
}

bool SinksHook::wants_distributions() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const Entry& entry) {
    return !entry.failed && entry.named.sink->wants_distributions();
  });
}

absl::Status SinksHook::after_backward(HookContext& context, const Gradients& gradients) {
  if (!context.report_due() || !wants_distributions()) return absl::OkStatus();
  for (const NamedParameter& parameter : gradients.dense()) {
    context.report_distribution("parameters/" + parameter.name,
                                tensor_distribution(parameter.value));
    const at::Tensor& gradient = parameter.value.grad();
    if (!gradient.defined()) continue;
    context.report_distribution("gradients/" + parameter.name, tensor_distribution(gradient));
  }
  return absl::OkStatus();
}

absl::Status SinksHook::after_report(HookContext&, const Report& report) {
  call([&](Sink& sink) { return sink.write_report(report); });
  return absl::OkStatus();
}

absl::Status SinksHook::after_evaluate(HookContext&, const EvaluationResult& result) {
  call([&](Sink& sink) { return sink.write_evaluation(result); });
  return absl::OkStatus();
}

absl::Status SinksHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  call([](Sink& sink) { return sink.flush(); });
  return absl::OkStatus();
}

absl::Status SinksHook::end(HookContext&, const absl::Status&) {
  call([](Sink& sink) { return sink.flush(); });
  return absl::OkStatus();
}

}  // namespace millrace
