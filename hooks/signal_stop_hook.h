// Ends training cleanly on a signal.
#ifndef MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_
#define MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_

#include "base/signals/signals.h"
#include "hook/hook.h"

namespace millrace {

// Converts the signals of base/signals/signals.h to a stop request of this rank, from start to
// end. The request is served after the step that begins next, and also while ranks wait for a
// window or evaluate. A second SIGTERM or SIGINT ends the process at once. Other signals never end
// the process, since schedulers, terminals and limits may send them several times. Outside training
// (evaluate() alone) all signals keep their usual effect. Only one such hook may be started in a
// process at a time: otherwise start returns FailedPrecondition.
class SignalStopHook : public Hook {
 public:
  ~SignalStopHook() override;
  absl::string_view name() const override { return "signal_stop"; }
  absl::Status start(HookContext& context) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  void ask_if_signalled(Requests& requests);
  void restore();

  bool asked_ = false;           // in this run
  StopSignalHandlers handlers_;  // installed from start to end
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_
