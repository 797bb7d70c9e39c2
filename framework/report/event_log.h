// The log of requests and decisions of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_EVENT_LOG_H_
#define MILLRACE_FRAMEWORK_REPORT_EVENT_LOG_H_

#include <string>

#include "base/progress.h"
#include "hook/requests.h"

namespace millrace {

// One request or decision.
struct LoopEvent {
  enum Kind {
    // A run began; what: "train" or "evaluate"; world_size is set; detail: the checkpoint that
    // training continues from, "": none.
    kStarted,
    kRequested,  // a hook of some rank asked for `what`; detail: the set ("": all) or the reason
    kServed,     // the trainer did `what`; hook, rank and scope are from the request
    kRefused,    // a step was not applied; what: "step"; detail: what was not finite
    kTolerated,  // a hook failed in event `what`, and the run continues; detail: the error
    kFailed,   // something of some rank failed and the run ends; what: "train" or "evaluate"; rank:
               // the lowest that failed; detail: the error, which names hook and event
    kEnded,    // the run; what: "completed", "stopped" or "failed"; detail: the reason or the error
    kOpened,   // training began, or continued, an epoch or a window; detail: its number or its name
    kClosed,   // training finished an epoch or a window; the same
    kRewound,  // `millrace rewind`; what: "window"; detail: its name; progress: of the checkpoint
               // from which training resumes
    kEvicted,  // tables lost rows since the last report; what: the table; detail: rows by reason
  };
  Kind kind = kStarted;
  // "train", "evaluate", "checkpoint", "reload", "stop", "step", "epoch", "window", …
  std::string what;
  std::string hook;              // that made the request or failed; "": the trainer itself
  int rank = 0;                  // that made the request or failed
  Scope scope = Scope::kCommon;  // of a request
  std::string detail;            // depends on the kind
  Progress progress;             // when it happened
  int world_size = 0;            // of kStarted
};

// Receives the events of the loop, in order, on the trainer's thread of every rank. An
// implementation chooses which events it keeps, and must not fail the run. jsonl_event_log.h writes
// OUTPUT_DIR/events.jsonl.
class EventLog {
 public:
  virtual ~EventLog() = default;
  // Called for each event.
  virtual void record(const LoopEvent& event) = 0;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_EVENT_LOG_H_
