// Ends training cleanly on a signal.
#ifndef MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_
#define MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_

#include <csignal>
#include <vector>

#include "framework/hook.h"

namespace millrace {

// From start to end, the signals of base/stop_signals.h make this rank ask for a stop, which is
// served after the step that begins next, and also while ranks wait for a window or evaluate. A
// second SIGTERM or SIGINT ends the process at once. The other signals are warnings, which
// schedulers, terminals and limits may send several times: they never do. Signals outside training (evaluate() on its own) keep their usual effect.
// One such hook may be started in a process at a time: start fails with FailedPrecondition
// otherwise.
class SignalStopHook : public Hook {
 public:
  ~SignalStopHook() override;
  absl::string_view name() const override { return "signal_stop"; }
  absl::Status start(HookContext& context) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  struct Saved {
    int signal;
    struct sigaction action;
  };

  void ask_if_signalled(Requests& requests);
  void restore();

  bool asked_ = false;        // in this run
  std::vector<Saved> saved_;  // what was in force before start; empty: not started
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_SIGNAL_STOP_HOOK_H_
