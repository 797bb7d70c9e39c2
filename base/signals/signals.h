// Signals of a process: signals that stop a run, their handlers, and signals that are ignored or
// blocked.
#ifndef MILLRACE_BASE_SIGNALS_SIGNALS_H_
#define MILLRACE_BASE_SIGNALS_SIGNALS_H_

#include <signal.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace millrace {

// A signal that asks a run to stop.
struct StopSignal {
  int number;
  absl::string_view name;
};

// The signals that ask a run to stop. People and schedulers send SIGTERM and SIGINT; a terminal
// that closes sends SIGHUP; schedulers send SIGUSR1 and SIGUSR2 as warnings; the kernel sends
// SIGXCPU at the soft limit of CPU time (ulimit -St), and every second from there to the hard
// limit.
inline constexpr StopSignal kStopSignals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},
                                              {SIGHUP, "SIGHUP"},   {SIGUSR1, "SIGUSR1"},
                                              {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};

// Returns the name of a signal of kStopSignals, "" for other signals. Safe in a signal handler.
absl::string_view stop_signal_name(int number);

// Records that a signal arrived, unless one is recorded already. Safe in a signal handler; the
// record is a global variable because a handler has access to nothing else.
void note_stop_signal(int number);
// Returns the first signal recorded since forget_stop_signals(), 0 if there is none. Any thread may
// call it.
int noted_stop_signal();
// Removes the record.
void forget_stop_signals();

// Returns true for SIGHUP while the process ignores SIGHUP, as under nohup. No handler may replace
// this setting.
bool stays_ignored(int number);

// Ignores SIGPIPE and SIGXFSZ for the rest of the process. Output to a pipe without a reader is
// dropped. Writing a file beyond the limit of file sizes fails as on a full disk.
void ignore_write_signals();

// Handles the signals of kStopSignals from install() to restore(). Used by one thread.
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

// Blocks all signals in the calling thread; other threads of the program receive them.
void block_signals();

}  // namespace millrace

#endif  // MILLRACE_BASE_SIGNALS_SIGNALS_H_
