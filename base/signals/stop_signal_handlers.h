// The handler of the signals for a stop of a run.
#ifndef MILLRACE_BASE_SIGNALS_STOP_SIGNAL_HANDLERS_H_
#define MILLRACE_BASE_SIGNALS_STOP_SIGNAL_HANDLERS_H_

#include <signal.h>

#include <vector>

#include "absl/status/status.h"

namespace millrace {

// Handles the signals of base/signals/stop_signals.h from install() to restore(). Used by one
// thread.
class StopSignalHandlers {
 public:
  StopSignalHandlers() = default;
  ~StopSignalHandlers() { restore(); }
  StopSignalHandlers(const StopSignalHandlers&) = delete;
  StopSignalHandlers& operator=(const StopSignalHandlers&) = delete;

  // Sets `action` for each of the signals that does not stay ignored. Errors: Internal naming the
  // signal; no action has changed then. REQUIRES: not installed.
  absl::Status install(const struct sigaction& action);
  // Sets the actions that were in force before install(). Does nothing if not installed.
  void restore();
  bool installed() const { return !saved_.empty(); }

 private:
  struct Saved {
    int signal;
    struct sigaction action;
  };
  std::vector<Saved> saved_;
};

}  // namespace millrace

#endif  // MILLRACE_BASE_SIGNALS_STOP_SIGNAL_HANDLERS_H_
