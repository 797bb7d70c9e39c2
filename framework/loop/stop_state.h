// Whether a run was asked to stop.
#ifndef MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_
#define MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_

#include <string>

namespace millrace {

// The stop of one run, the same on all ranks. RequestServer sets it; the loop ends after the step.
struct StopState {
  bool stopped = false;
  // If true, one rank alone asked (a signal): the job is to be run again, and what is due at the
  // end of training is left to that run.
  bool by_rank = false;
  std::string reason;  // of the first stop
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_STOP_STATE_H_
