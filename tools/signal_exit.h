// Ends the process on a signal outside of training.
#ifndef MILLRACE_TOOLS_SIGNAL_EXIT_H_
#define MILLRACE_TOOLS_SIGNAL_EXIT_H_

#include "base/signals/signals.h"

namespace millrace {

// Makes the signals of base/signals/signals.h end the process at once during its lifetime,
// with a line on stderr and kExitRunAgain. For phases before and after training, which can be
// interrupted anywhere: generation of data, loading a checkpoint, waiting for ranks. SignalStopHook
// handles the signals from its start to its end. At most one object at a time; used by one thread.
class SignalExit {
 public:
  SignalExit();

 private:
  StopSignalHandlers handlers_;
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SIGNAL_EXIT_H_
