// The hooks of one trainer.
#ifndef MILLRACE_FRAMEWORK_LOOP_HOOK_LIST_H_
#define MILLRACE_FRAMEWORK_LOOP_HOOK_LIST_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "checkpoint/state/named_states.h"
#include "framework/report/event_log.h"
#include "hook/hook.h"
#include "hook/hook_statistics.h"

namespace millrace {

class PhaseTimer;

// Owns hooks and calls their events in the order that class Hook defines. An exception thrown by a
// hook becomes an Internal error, as does a change that a hook makes to the batch of after_data().
// Used on the trainer's thread.
//
// add() sets the effect of errors for each hook, except that a changed batch always ends the run.
// If an error of a hook does not end the run:
//  * the first error of a run is logged, all errors are counted, and a line at `end` gives the
//    count;
//  * a hook whose `start` failed is disabled and gets no `end`;
//  * requests that the hook made before the error remain valid. A hook whose common requests (see
//    Scope) should survive errors must fail on all ranks or on none: if only some ranks make the
//    request, the ranks disagree, and the next step exchange ends the run.
class HookList {
 public:
  // Borrows the clock, which times the hooks.
  explicit HookList(Clock& clock = Clock::real()) : clock_(clock) {}

  // Adds a hook. Errors: AlreadyExists if the list has a hook of this name, InvalidArgument for an
  // empty name or a null hook.
  absl::Status add(std::unique_ptr<Hook> hook, OnError on_error = OnError::kFail);

  // Sets the event log, which also records errors that do not end the run. Borrowed; null: none.
  void set_event_log(EventLog* events) { event_log_ = events; }

  // Sets the timer that gets the time of all events. Borrowed; null: none.
  void set_timer(PhaseTimer* timer) { timer_ = timer; }

  std::vector<std::string> names() const;  // in calling order
  // Returns access to each hook's save_state and load_state, in calling order. Borrowed from the
  // list.
  std::vector<StateHolder> state_holders();
  // Returns the statistics of the current run, or else of the last one, by hook.
  std::map<std::string, HookStatistics> statistics() const;

  // Begins a run: enables disabled hooks and clears statistics.
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
  // Calls `end` of the hooks whose start succeeded since the last end.
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

  // Calls one hook and adds the time since *since, then sets *since to the time after the call.
  template <typename Call>
  absl::Status call(HookContext& context, Entry& entry, Event event, absl::Duration* since,
                    const Call& call);
  template <typename Call>
  absl::Status open(HookContext& context, Event event, const Call& call);
  struct NoCheck {
    absl::Status operator()() const { return absl::OkStatus(); }
  };
  // Calls the hooks in reverse order. Calls `check` after each hook: an error of `check` is an
  // error of the hook that ends the run whatever on_error is.
  template <typename Call, typename Check = NoCheck>
  absl::Status close(HookContext& context, Event event, const Call& call, const Check& check = {});
  // Counts an error and applies `on_error`. Returns the error if it ends the run, else OK.
  absl::Status handle_error(HookContext& context, Entry& entry, Event event, OnError on_error,
                            absl::Status error);

  Clock& clock_;
  EventLog* event_log_ = nullptr;
  PhaseTimer* timer_ = nullptr;
  std::vector<Entry> hooks_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_HOOK_LIST_H_
