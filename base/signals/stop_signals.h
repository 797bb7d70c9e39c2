// Signals for a stop of a run, and ignored signals.
#ifndef MILLRACE_BASE_SIGNALS_STOP_SIGNALS_H_
#define MILLRACE_BASE_SIGNALS_STOP_SIGNALS_H_

#include <signal.h>

#include "absl/strings/string_view.h"

namespace millrace {

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

}  // namespace millrace

#endif  // MILLRACE_BASE_SIGNALS_STOP_SIGNALS_H_
