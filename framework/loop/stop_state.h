// State of a stop of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_
#define MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_

#include <string>

namespace millrace {

// The stop of one run, equal on all ranks. RequestServer sets it; the loop ends after the step.
struct StopState {
  bool stopped = false;
  // If true, one rank alone asked to stop (a signal): the job should be run again, and work at the
  // end of training is left to that run.
  bool by_rank = false;
  std::string reason;  // of the first stop
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_
