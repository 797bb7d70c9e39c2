#include "framework/hook_list.h"

#include <exception>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {

absl::Status HookList::add(std::unique_ptr<Hook> hook) {
  if (hook == nullptr) return absl::InvalidArgumentError("a hook is null");
  if (hook->name().empty()) return absl::InvalidArgumentError("a hook has no name");
  for (const std::unique_ptr<Hook>& other : hooks_) {
    if (other->name() == hook->name()) {
      return absl::AlreadyExistsError(
          absl::StrCat("two hooks are named \"", hook->name(),
                       "\"; a hook's name keys its state and must be unique: remove one"));
    }
  }
  hooks_.push_back(std::move(hook));
  return absl::OkStatus();
}

std::vector<std::string> HookList::names() const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Hook>& hook : hooks_) names.emplace_back(hook->name());
  return names;
}

template <typename Call>
absl::Status HookList::call(HookContext& context, Hook& hook, const char* event,
                            const Call& call) {
  context.requests().set_caller(hook.name());
  absl::Status status;
  try {
    status = call(hook);
  } catch (const std::exception& error) {
    status = absl::InternalError(absl::StrCat("threw an exception: ", error.what()));
  } catch (...) {
    status = absl::InternalError("threw something that is no std::exception");
  }
  if (status.ok()) return status;
  return annotate(std::move(status), absl::StrCat("hook ", hook.name(), " in ", event));
}

template <typename Call>
absl::Status HookList::open(HookContext& context, const char* event, const Call& call) {
  for (const std::unique_ptr<Hook>& hook : hooks_) {
    RETURN_IF_ERROR(this->call(context, *hook, event, call));
  }
  return absl::OkStatus();
}

template <typename Call>
absl::Status HookList::close(HookContext& context, const char* event, const Call& call) {
  absl::Status first;
  for (size_t i = hooks_.size(); i-- > 0;) {
    first.Update(this->call(context, *hooks_[i], event, call));
  }
  return first;
}

absl::Status HookList::start(HookContext& context) {
  for (started_ = 0; started_ < hooks_.size(); ++started_) {
    RETURN_IF_ERROR(call(context, *hooks_[started_], "start",
                         [&](Hook& hook) { return hook.start(context); }));
  }
  return absl::OkStatus();
}

absl::Status HookList::before_epoch(HookContext& context) {
  return open(context, "before_epoch", [&](Hook& hook) { return hook.before_epoch(context); });
}

absl::Status HookList::before_window(HookContext& context, const Window& window) {
  return open(context, "before_window",
              [&](Hook& hook) { return hook.before_window(context, window); });
}

absl::Status HookList::before_step(HookContext& context) {
  return open(context, "before_step", [&](Hook& hook) { return hook.before_step(context); });
}

absl::Status HookList::after_data(HookContext& context, const Batch& batch, int64_t micro_batch) {
  return close(context, "after_data",
               [&](Hook& hook) { return hook.after_data(context, batch, micro_batch); });
}

absl::Status HookList::after_backward(HookContext& context, const Gradients& gradients) {
  return close(context, "after_backward",
               [&](Hook& hook) { return hook.after_backward(context, gradients); });
}

absl::Status HookList::after_step(HookContext& context, const StepResult& result) {
  return close(context, "after_step",
               [&](Hook& hook) { return hook.after_step(context, result); });
}

absl::Status HookList::out_of_data(HookContext& context, DataEnd what) {
  return close(context, "out_of_data",
               [&](Hook& hook) { return hook.out_of_data(context, what); });
}

absl::Status HookList::after_window(HookContext& context, const Window& window) {
  return close(context, "after_window",
               [&](Hook& hook) { return hook.after_window(context, window); });
}

absl::Status HookList::after_epoch(HookContext& context) {
  return close(context, "after_epoch", [&](Hook& hook) { return hook.after_epoch(context); });
}

absl::Status HookList::after_report(HookContext& context, const Report& report) {
  return close(context, "after_report",
               [&](Hook& hook) { return hook.after_report(context, report); });
}

absl::Status HookList::after_evaluate(HookContext& context, const EvaluationResult& result) {
  return close(context, "after_evaluate",
               [&](Hook& hook) { return hook.after_evaluate(context, result); });
}

absl::Status HookList::after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) {
  return close(context, "after_checkpoint",
               [&](Hook& hook) { return hook.after_checkpoint(context, checkpoint); });
}

absl::Status HookList::end(HookContext& context, const absl::Status& outcome) {
  absl::Status first;
  while (started_ > 0) {
    Hook& hook = *hooks_[--started_];
    first.Update(
        call(context, hook, "end", [&](Hook& hook) { return hook.end(context, outcome); }));
  }
  return first;
}

}  // namespace millrace
