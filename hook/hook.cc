#include "hook/hook.h"

#include "hook/request_queue.h"

namespace millrace {

Requests& HookContext::requests() { return request_queue(); }

absl::Status Hook::start(HookContext&) { return absl::OkStatus(); }
absl::Status Hook::before_epoch(HookContext&) { return absl::OkStatus(); }
absl::Status Hook::before_window(HookContext&, const Window&) { return absl::OkStatus(); }
absl::Status Hook::before_step(HookContext&) { return absl::OkStatus(); }
absl::Status Hook::after_data(HookContext&, const Batch&, int64_t) { return absl::OkStatus(); }
absl::Status Hook::after_backward(HookContext&, const Gradients&) { return absl::OkStatus(); }
absl::Status Hook::after_step(HookContext&, const StepResult&) { return absl::OkStatus(); }
absl::Status Hook::out_of_data(HookContext&, DataEnd) { return absl::OkStatus(); }
absl::Status Hook::after_window(HookContext&, const Window&) { return absl::OkStatus(); }
absl::Status Hook::after_epoch(HookContext&) { return absl::OkStatus(); }
absl::Status Hook::after_report(HookContext&, const Report&) { return absl::OkStatus(); }
absl::Status Hook::after_evaluate(HookContext&, const EvaluationResult&) {
  return absl::OkStatus();
}
absl::Status Hook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  return absl::OkStatus();
}
absl::Status Hook::end(HookContext&, const absl::Status&) { return absl::OkStatus(); }
absl::Status Hook::save_state(HookState&) const { return absl::OkStatus(); }
absl::Status Hook::load_state(absl::Span<const HookState>) { return absl::OkStatus(); }

}  // namespace millrace
