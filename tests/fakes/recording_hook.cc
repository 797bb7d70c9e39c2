#include "tests/fakes/recording_hook.h"

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

const char* word(DataEnd what) {
  switch (what) {
    case DataEnd::kWindow: return "window";
    case DataEnd::kEpoch: return "epoch";
    default: return "stream";
  }
}

}  // namespace

absl::Status RecordingHook::record(HookContext& context, const std::string& event) {
  std::string word;
  if (prefixed_) absl::StrAppend(&word, name_, ".");
  if (context.phase() == Phase::kEvaluate) absl::StrAppend(&word, "eval:");
  events_->push_back(word + event);
  return on_event_ ? on_event_(context, events_->back()) : absl::OkStatus();
}

absl::Status RecordingHook::start(HookContext& c) { return record(c, "start"); }
absl::Status RecordingHook::before_epoch(HookContext& c) { return record(c, "before_epoch"); }
absl::Status RecordingHook::before_window(HookContext& c, const Window&) {
  return record(c, "before_window");
}
absl::Status RecordingHook::before_step(HookContext& c) { return record(c, "before_step"); }
absl::Status RecordingHook::after_data(HookContext& c, const Batch&, int64_t micro_batch) {
  return record(c, absl::StrCat("after_data(", micro_batch, ")"));
}
absl::Status RecordingHook::after_backward(HookContext& c, const Gradients&) {
  return record(c, "after_backward");
}
absl::Status RecordingHook::after_step(HookContext& c, const StepResult& result) {
  return record(c, result.applied ? "after_step" : "after_step(refused)");
}
absl::Status RecordingHook::out_of_data(HookContext& c, DataEnd what) {
  return record(c, absl::StrCat("out_of_data(", word(what), ")"));
}
absl::Status RecordingHook::after_window(HookContext& c, const Window&) {
  return record(c, "after_window");
}
absl::Status RecordingHook::after_epoch(HookContext& c) { return record(c, "after_epoch"); }
absl::Status RecordingHook::after_report(HookContext& c, const Report&) {
  return record(c, "after_report");
}
absl::Status RecordingHook::after_evaluate(HookContext& c, const EvaluationResult&) {
  return record(c, "after_evaluate");
}
absl::Status RecordingHook::after_checkpoint(HookContext& c, const CheckpointInfo&) {
  return record(c, "after_checkpoint");
}
absl::Status RecordingHook::end(HookContext& c, const absl::Status&) { return record(c, "end"); }

}  // namespace millrace
