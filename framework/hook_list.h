// The hooks of one trainer, called as one.
#ifndef MILLRACE_FRAMEWORK_HOOK_LIST_H_
#define MILLRACE_FRAMEWORK_HOOK_LIST_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "checkpoint/named_states.h"
#include "framework/hook.h"
#include "framework/hook_statistics.h"
#include "framework/on_error.h"
#include "framework/report/event_log.h"

namespace millrace {

class PhaseTimer;

// Owns hooks and fires their events in the order that class Hook promises. An exception thrown
// by a hook becomes an Internal error. Used on the trainer's thread.
//
// What an error of a hook leads to is chosen for each with add(). Where it does not end the run:
//  * the first error of a run is logged, all are counted, and a line at `end` says how many more
//    there were;
//  * a hook whose `start` failed is disabled and gets no `end`;
//  * what the hook asked for before it failed stands. A hook whose common requests (see Scope)
//    should survive errors must fail on all ranks or on none: if it is silent on one of them, the
//    ranks disagree, and the next step exchange ends the run.
class HookList {
 public:
  // Borrows the clock, which times the hooks.
  explicit HookList(Clock& clock = Clock::real()) : clock_(clock) {}

  // Errors: AlreadyExists if a hook of this name is there, InvalidArgument for an empty name or no
  // hook.
  absl::Status add(std::unique_ptr<Hook> hook, OnError on_error = OnError::kFail);

  // Where errors that do not end the run are recorded too; borrowed, null: nowhere.
  void set_event_log(EventLog* events) { event_log_ = events; }

  // Borrows the timer that gets the time of all events; null: none.
  void set_timer(PhaseTimer* timer) { timer_ = timer; }

  std::vector<std::string> names() const;  // in calling order
  // Each hook's save_state and load_state, in calling order; borrowed from the list.
  std::vector<StateHolder> state_holders();
  // Of the run that goes on or was the last, by hook.
  std::map<std::string, HookStatistics> statistics() const;

  // Begins a run: disabled hooks are enabled again, and statistics start from nothing.
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
  enum Event {
    kStart,
    kBeforeEpoch,
    kBeforeWindow,
    kBeforeStep,
    kAfterData,
    kAfterBackward,
    kAfterStep,
    kOutOfData,
    kAfterWindow,
    kAfterEpoch,
    kAfterReport,
    kAfterEvaluate,
    kAfterCheckpoint,
    kEnd,
    kEvents,
  };
  struct Entry {
    std::unique_ptr<Hook> hook;
    OnError on_error = OnError::kFail;
    bool started = false;  // and not ended
    bool disabled = false;
    int64_t errors = 0;
    std::string first_error;
    std::array<HookStatistics::Event, kEvents> events;
  };
  static const char* event_name(Event event);

  // Calls one hook and adds the time since *since, which becomes the time after the call.
  template <typename Call>
  absl::Status call(HookContext& context, Entry& entry, Event event, absl::Duration* since,
                    const Call& call);
  template <typename Call>
  absl::Status open(HookContext& context, Event event, const Call& call);
  template <typename Call>
  absl::Status close(HookContext& context, Event event, const Call& call);
  // Counts an error. Returns: what is left of it for the run.
  absl::Status judge(HookContext& context, Entry& entry, Event event, absl::Status error);

  Clock& clock_;
  EventLog* event_log_ = nullptr;
  PhaseTimer* timer_ = nullptr;
  std::vector<Entry> hooks_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_HOOK_LIST_H_
