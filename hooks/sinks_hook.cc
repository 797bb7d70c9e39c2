#include "hooks/sinks_hook.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "hooks/inspect/tensor_distribution.h"

namespace millrace {

SinksHook::SinksHook(std::vector<NamedSink> sinks) {
  for (NamedSink& named : sinks) sinks_.push_back({.named = std::move(named)});
}

absl::Status SinksHook::call(absl::FunctionRef<absl::Status(Sink&)> call) {
  absl::Status first;
  for (Entry& entry : sinks_) {
    if (entry.failed) continue;
    const absl::Status status = catch_exceptions([&] { return call(*entry.named.sink); });
    if (status.ok()) continue;
    entry.failed = true;
    const absl::Status error = annotate(
        status,
        absl::StrCat("sink ", entry.named.name, " is switched off for the rest of the run"));
    if (!first.ok()) MILLRACE_LOG(WARNING) << error;
    first.Update(error);
  }
  return first;
}

absl::Status SinksHook::start(HookContext& context) {
  for (Entry& entry : sinks_) entry.failed = false;
  start_ = call([&](Sink& sink) { return sink.start(context.progress().step); });
  // An error returned here would take the other sinks from the run, too.
  if (!start_.ok()) MILLRACE_LOG(WARNING) << start_.message();
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
  return call([&](Sink& sink) { return sink.write_report(report); });
}

absl::Status SinksHook::after_evaluate(HookContext&, const EvaluationResult& result) {
  return call([&](Sink& sink) { return sink.write_evaluation(result); });
}

absl::Status SinksHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  return call([](Sink& sink) { return sink.flush(); });
}

absl::Status SinksHook::end(HookContext&, const absl::Status&) {
  absl::Status status = call([](Sink& sink) { return sink.flush(); });
  status.Update(start_);
  return status;
}

}  // namespace millrace
