#include "framework/loop/hook_list.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/loop/phase_timer.h"
#include "hook/request_queue.h"

namespace millrace {
namespace {

// A tensor at one time. Operators of LibTorch that write in place raise the version, also through a
// view; resize_() does not. Reads the fields of TensorImpl itself: at::Tensor::_version() makes
// a virtual call, which five hooks and eight tensors a step turn into half a microsecond.
struct TensorMark {
  TensorMark() = default;
  explicit TensorMark(const at::Tensor& of) {
    if (!of.defined()) return;
    tensor = of.unsafeGetTensorImpl();
    numel = tensor->numel();
    // Tensors made in inference mode have no version.
    if (!of.is_inference()) version = tensor->version_counter().current_version();
  }
  bool operator==(const TensorMark&) const = default;

  const c10::TensorImpl* tensor = nullptr;
  int64_t numel = 0;
  int64_t version = 0;
};

// Finds changes of a batch between two checks. Costs a few integers for each tensor.
class BatchGuard {
 public:
  explicit BatchGuard(const Batch& batch)
      : batch_(batch), size_(batch.size), tensors_{&batch.dense,          &batch.labels,
                                                   &batch.weights,        &batch.example_ids,
                                                   &batch.group_ids,      &batch.sparse.values,
                                                   &batch.sparse.offsets, &batch.sparse.weights} {
    for (size_t i = 0; i < kTensors; ++i) marks_[i] = TensorMark(*tensors_[i]);
  }

  // Errors: Internal, with the name of the first part of the batch that changed since the last
  // check, or since the construction.
  absl::Status check() {
    static constexpr std::array<const char*, kTensors> kNames = {
        "dense",     "labels",        "weights",        "example_ids",
        "group_ids", "sparse.values", "sparse.offsets", "sparse.weights"};
    const char* first = nullptr;
    if (std::exchange(size_, batch_.size) != batch_.size) first = "size";
    for (size_t i = 0; i < kTensors; ++i) {
      const TensorMark mark(*tensors_[i]);
      if (mark == marks_[i]) continue;
      marks_[i] = mark;
      if (first == nullptr) first = kNames[i];
    }
    return first == nullptr ? absl::OkStatus() : changed(first);
  }

 private:
  static constexpr size_t kTensors = 8;

  static absl::Status changed(const char* name) {
    return absl::InternalError(
        absl::StrCat("changed batch.", name,
                     "; a hook may only read a batch: change a copy, made with clone()"));
  }

  const Batch& batch_;
  int64_t size_;
  std::array<const at::Tensor*, kTensors> tensors_;
  std::array<TensorMark, kTensors> marks_;
};

}  // namespace

absl::Status HookList::add(std::unique_ptr<Hook> hook, OnError on_error) {
  if (hook == nullptr) return absl::InvalidArgumentError("a hook is null");
  if (hook->name().empty()) return absl::InvalidArgumentError("a hook has no name");
  for (const Entry& other : hooks_) {
    if (other.hook->name() == hook->name()) {
      return absl::AlreadyExistsError(
          absl::StrCat("two hooks are named \"", hook->name(),
                       "\"; a hook's name keys its state and must be unique: remove one"));
    }
  }
  Entry entry;
  entry.hook = std::move(hook);
  entry.on_error = on_error;
  hooks_.push_back(std::move(entry));
  return absl::OkStatus();
}

std::vector<std::string> HookList::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : hooks_) names.emplace_back(entry.hook->name());
  return names;
}

std::vector<StateHolder> HookList::state_holders() {
  std::vector<StateHolder> holders;
  for (const Entry& entry : hooks_) {
    Hook& hook = *entry.hook;
    const auto save = [&hook](HookState& state) {
      return as_part_failure(catch_exceptions([&] { return hook.save_state(state); }));
    };
    const auto load = [&hook](absl::Span<const HookState> per_rank) {
      return as_part_failure(catch_exceptions([&] { return hook.load_state(per_rank); }));
    };
    holders.push_back({"hook", std::string(hook.name()), save, load});
  }
  return holders;
}

std::map<std::string, HookStatistics> HookList::statistics() const {
  std::map<std::string, HookStatistics> all;
  for (const Entry& entry : hooks_) {
    HookStatistics& one = all[std::string(entry.hook->name())];
    one.errors = entry.errors;
    one.first_error = entry.first_error;
    one.disabled = entry.disabled;
    for (int event = 0; event < kEvents; ++event) {
      if (entry.events[event].calls == 0) continue;
      one.events[event_name(static_cast<Event>(event))] = entry.events[event];
    }
  }
  return all;
}

const char* HookList::event_name(Event event) {
  constexpr const char* kNames[kEvents] = {
      "start",          "before_epoch",   "before_window",    "before_step",  "after_data",
      "after_backward", "after_step",     "out_of_data",      "after_window", "after_epoch",
      "after_report",   "after_evaluate", "after_checkpoint", "end"};
  return kNames[event];
}

template <typename Call>
absl::Status HookList::call(HookContext& context, Entry& entry, Event event, absl::Duration* since,
                            const Call& call) {
  context.request_queue().set_caller(entry.hook->name());
  constexpr ExceptionWords kWords = {.doing = "",
                                     .internal = "threw an exception",
                                     .unknown = "threw something that is no std::exception"};
  absl::Status status = catch_exceptions([&] { return call(*entry.hook); }, kWords);
  const absl::Duration now = clock_.elapsed();
  ++entry.events[event].calls;
  entry.events[event].time += now - *since;
  if (timer_ != nullptr) timer_->add_hooks(now - *since);
  *since = now;
  if (status.ok()) return status;
  return handle_error(context, entry, event, entry.on_error, std::move(status));
}

absl::Status HookList::handle_error(HookContext& context, Entry& entry, Event event,
                                    OnError on_error, absl::Status error) {
  if (entry.errors++ == 0) entry.first_error = std::string(error.message());
  error = annotate(as_part_failure(std::move(error)),
                   absl::StrCat("hook ", entry.hook->name(), " in ", event_name(event)));
  if (on_error == OnError::kFail) return error;
  // A hook whose start failed lacks the state that its other functions need.
  const bool disable = on_error == OnError::kDisable || event == kStart;
  entry.disabled |= disable;
  if (disable) context.request_queue().remove_callbacks(entry.hook->name());
  // Reports only the first error, so that a hook that fails at each step does not fill the log.
  if (entry.errors == 1 || disable) {
    MILLRACE_LOG(WARNING) << error.message() << " (the run goes on"
                          << (disable ? " without this hook)" : ")");
  }
  if (event_log_ != nullptr && (entry.errors == 1 || disable)) {
    LoopEvent record;
    record.kind = LoopEvent::kTolerated;
    record.what = event_name(event);
    record.hook = std::string(entry.hook->name());
    record.rank = context.rank();
    record.detail = std::string(error.message());
    record.progress = context.progress();
    event_log_->record(record);
  }
  return absl::OkStatus();
}

template <typename Call>
absl::Status HookList::open(HookContext& context, Event event, const Call& call) {
  absl::Duration since = clock_.elapsed();
  for (Entry& entry : hooks_) {
    if (entry.disabled) continue;
    RETURN_IF_ERROR(this->call(context, entry, event, &since, call));
  }
  return absl::OkStatus();
}

template <typename Call, typename Check>
absl::Status HookList::close(HookContext& context, Event event, const Call& call,
                             const Check& check) {
  absl::Status first;
  absl::Duration since = clock_.elapsed();
  for (size_t i = hooks_.size(); i-- > 0;) {
    Entry& entry = hooks_[i];
    if (entry.disabled) continue;
    const absl::Status status = this->call(context, entry, event, &since, call);
    absl::Status checked = check();
    if (!checked.ok()) {
      first.Update(handle_error(context, entry, event, OnError::kFail, std::move(checked)));
    }
    first.Update(status);
  }
  return first;
}

absl::Status HookList::start(HookContext& context) {
  for (Entry& entry : hooks_) {
    entry.started = false;
    entry.disabled = false;
    entry.errors = 0;
    entry.first_error.clear();
    entry.events = {};
  }
  absl::Duration since = clock_.elapsed();
  for (Entry& entry : hooks_) {
    RETURN_IF_ERROR(
        call(context, entry, kStart, &since, [&](Hook& hook) { return hook.start(context); }));
    entry.started = !entry.disabled;
  }
  return absl::OkStatus();
}

absl::Status HookList::before_epoch(HookContext& context) {
  return open(context, kBeforeEpoch, [&](Hook& hook) { return hook.before_epoch(context); });
}

absl::Status HookList::before_window(HookContext& context, const Window& window) {
  return open(context, kBeforeWindow,
              [&](Hook& hook) { return hook.before_window(context, window); });
}

absl::Status HookList::before_step(HookContext& context) {
  return open(context, kBeforeStep, [&](Hook& hook) { return hook.before_step(context); });
}

absl::Status HookList::after_data(HookContext& context, const Batch& batch, int64_t micro_batch) {
  BatchGuard guard(batch);
  // A changed batch ends the run whatever on_error is, also if the hook failed afterwards: later
  // hooks and the model would use wrong data.
  return close(
      context, kAfterData, [&](Hook& hook) { return hook.after_data(context, batch, micro_batch); },
      [&] { return guard.check(); });
}

absl::Status HookList::after_backward(HookContext& context, const Gradients& gradients) {
  return close(context, kAfterBackward,
               [&](Hook& hook) { return hook.after_backward(context, gradients); });
}

absl::Status HookList::after_step(HookContext& context, const StepResult& result) {
  return close(context, kAfterStep, [&](Hook& hook) { return hook.after_step(context, result); });
}

absl::Status HookList::out_of_data(HookContext& context, DataEnd what) {
  return close(context, kOutOfData, [&](Hook& hook) { return hook.out_of_data(context, what); });
}

absl::Status HookList::after_window(HookContext& context, const Window& window) {
  return close(context, kAfterWindow,
               [&](Hook& hook) { return hook.after_window(context, window); });
}

absl::Status HookList::after_epoch(HookContext& context) {
  return close(context, kAfterEpoch, [&](Hook& hook) { return hook.after_epoch(context); });
}

absl::Status HookList::after_report(HookContext& context, const Report& report) {
  return close(context, kAfterReport,
               [&](Hook& hook) { return hook.after_report(context, report); });
}

absl::Status HookList::after_evaluate(HookContext& context, const EvaluationResult& result) {
  return close(context, kAfterEvaluate,
               [&](Hook& hook) { return hook.after_evaluate(context, result); });
}

absl::Status HookList::after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) {
  return close(context, kAfterCheckpoint,
               [&](Hook& hook) { return hook.after_checkpoint(context, checkpoint); });
}

absl::Status HookList::end(HookContext& context, const absl::Status& outcome) {
  absl::Status first;
  absl::Duration since = clock_.elapsed();
  for (size_t i = hooks_.size(); i-- > 0;) {
    Entry& entry = hooks_[i];
    if (std::exchange(entry.started, false)) {
      const absl::Status told = outcome.ok() ? first : outcome;
      first.Update(
          call(context, entry, kEnd, &since, [&](Hook& hook) { return hook.end(context, told); }));
    }
    context.request_queue().remove_callbacks(entry.hook->name());
    if (entry.on_error != OnError::kFail && entry.errors > 1) {
      MILLRACE_LOG(WARNING) << "hook " << entry.hook->name() << " failed " << entry.errors
                            << " times in this run; the first error was: " << entry.first_error;
    }
  }
  return first;
}

}  // namespace millrace
