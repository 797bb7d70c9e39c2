// The signals that ask a run to stop, and what happens to those that would end it without a word.
#ifndef MILLRACE_BASE_STOP_SIGNALS_H_
#define MILLRACE_BASE_STOP_SIGNALS_H_

#include <signal.h>

#include "absl/strings/string_view.h"

namespace millrace {

struct StopSignal {
  int number;
  absl::string_view name;
};

// SIGTERM and SIGINT come from people and schedulers, SIGHUP from a terminal that closes, SIGUSR1
// and SIGUSR2 from schedulers as warnings, SIGXCPU from the soft limit of CPU time (ulimit -St),
// every second until the hard limit.
inline constexpr StopSignal kStopSignals[] = {
    {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},
    {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}};

// Returns "" for a signal that is none of these. Safe in a signal handler.
absl::string_view stop_signal_name(int number);

// The first of these signals that arrived since forget_stop_signals(); 0: none. A signal handler
// can reach nothing but such globals; any thread may ask.
void note_stop_signal(int number);
int noted_stop_signal();
void forget_stop_signals();

// Returns true for SIGHUP while it is ignored: nohup asks for that, and no handler may replace it.
bool stays_ignored(int number);

// Ignores SIGPIPE and SIGXFSZ for the rest of the process: an output that nobody reads is dropped,
// and a file beyond the limit of file sizes fails to be written like one on a full disk.
void ignore_write_signals();

}  // namespace millrace

#endif  // MILLRACE_BASE_STOP_SIGNALS_H_
