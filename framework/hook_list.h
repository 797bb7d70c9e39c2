// The hooks of one trainer, called as one.
#ifndef MILLRACE_FRAMEWORK_HOOK_LIST_H_
#define MILLRACE_FRAMEWORK_HOOK_LIST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "framework/hook.h"

namespace millrace {

// Owns hooks and fires their events in the order that class Hook promises. An exception thrown
// by a hook becomes an Internal error. Used on the trainer's thread.
class HookList {
 public:
  // Errors: AlreadyExists if a hook of this name is there, InvalidArgument for an empty name or no hook.
  absl::Status add(std::unique_ptr<Hook> hook);

  std::vector<std::string> names() const;  // in calling order

  absl::Status start(HookContext& context);
  absl::Status before_epoch(HookContext& context);
  absl::Status before_window(HookContext& context, const Window& window);
  absl::Status before_step(HookContext& context);
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch);
  absl::Status after_backward(HookContext& context, const Gradients& gradients);
  absl::Status after_step(HookContext& context, const StepResult& result);
  absl::Status out_of_data(HookContext& context, DataEnd what);
  absl::Status after_window(HookContext& context, const Window& window);
  absl::Status after_epoch(HookContext& context);
  absl::Status after_report(HookContext& context, const Report& report);
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result);
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint);
  // Reaches the hooks whose start succeeded since the last end.
  absl::Status end(HookContext& context, const absl::Status& outcome);

 private:
  template <typename Call>
  absl::Status call(HookContext& context, Hook& hook, const char* event, const Call& call);
  template <typename Call>
  absl::Status open(HookContext& context, const char* event, const Call& call);
  template <typename Call>
  absl::Status close(HookContext& context, const char* event, const Call& call);

  std::vector<std::unique_ptr<Hook>> hooks_;
  size_t started_ = 0;  // the first so many hooks have been started
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_HOOK_LIST_H_
