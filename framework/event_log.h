// What was asked for in a run, and what was done about it.
#ifndef MILLRACE_FRAMEWORK_EVENT_LOG_H_
#define MILLRACE_FRAMEWORK_EVENT_LOG_H_

#include <string>

#include "base/progress.h"
#include "framework/requests.h"

namespace millrace {

// One request or decision.
struct LoopEvent {
  enum Kind {
    kStarted,    // a run began
    kRequested,  // a hook of some rank asked for `what`
    kServed,     // the trainer did `what`
    kRefused,    // a step was not applied
    kFailed,     // something of some rank failed
    kEnded,      // the run; detail: its outcome
  };
  Kind kind = kStarted;
  // "train", "evaluate", "checkpoint", "reload", "stop", "step", "epoch", "window", …
  std::string what;
  std::string hook;               // that asked or failed; "": the trainer itself
  int rank = 0;                   // that asked or failed
  Scope scope = Scope::kCommon;   // of a request
  std::string detail;             // the set, the reason, the error
  Progress progress;              // when it happened
};

// Where the trainer writes them, in order, on its thread, on every rank. An implementation keeps those it wants; it
// must not fail the run.
class EventLog {
 public:
  virtual ~EventLog() = default;
  virtual void record(const LoopEvent& event) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_EVENT_LOG_H_
