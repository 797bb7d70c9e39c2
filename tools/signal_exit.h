// Ends the process on a signal where there is nothing to save.
#ifndef MILLRACE_TOOLS_SIGNAL_EXIT_H_
#define MILLRACE_TOOLS_SIGNAL_EXIT_H_

#include "base/signals/stop_signal_handlers.h"

namespace millrace {

// While it lives, the signals of base/signals/stop_signals.h end the process at once with a line on
// stderr and kExitRunAgain. For what comes before training and after it: data that is made, a
// checkpoint that is loaded, ranks that are waited for. All of that may end anywhere. From its
// start to its end SignalStopHook takes the signals over. At most one at a time; used by one
// thread.
class SignalExit {
 public:
  SignalExit();

 private:
  StopSignalHandlers handlers_;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SIGNAL_EXIT_H_
