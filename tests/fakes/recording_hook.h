// A hook that records its events and calls a function of a test.
#ifndef MILLRACE_TESTS_FAKES_RECORDING_HOOK_H_
#define MILLRACE_TESTS_FAKES_RECORDING_HOOK_H_

#include <functional>
#include <string>
#include <vector>

#include "hook/hook.h"

namespace millrace {

// Records each event as one word, with the name of the hook before the word if several hooks share
// a log: "start", "after_data(0)", "after_step", "out_of_data(epoch)", …, and with "eval:" before
// events with phase() == kEvaluate.
class RecordingHook : public Hook {
 public:
  // `events` is borrowed. `on_event`, if not null, is called with the word, and its status is
  // returned.
  using OnEvent = std::function<absl::Status(HookContext&, absl::string_view event)>;
  explicit RecordingHook(std::vector<std::string>* events, OnEvent on_event = nullptr,
                         std::string name = "recording", bool prefixed = false)
      : events_(events),
        on_event_(std::move(on_event)),
        name_(std::move(name)),
        prefixed_(prefixed) {}

  absl::string_view name() const override { return name_; }
  absl::Status start(HookContext& context) override;
  absl::Status before_epoch(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status out_of_data(HookContext& context, DataEnd what) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  absl::Status record(HookContext& context, const std::string& event);

  std::vector<std::string>* events_;
  OnEvent on_event_;
  const std::string name_;
  const bool prefixed_;
};

}  // namespace millrace

#endif  // MILLRACE_TESTS_FAKES_RECORDING_HOOK_H_
