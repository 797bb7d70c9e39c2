#include "tools/signal_exit.h"

#include <unistd.h>

#include "absl/strings/string_view.h"
#include "base/stop_signals.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

void say(absl::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// In a signal handler: system calls only.
[[noreturn]] void leave(int signal) {
  say("millrace: stopped by ");
  say(stop_signal_name(signal));
  say(" outside of training, where there is nothing to save: run again to go on\n");
  ::_exit(kExitRunAgain);
}

}  // namespace

SignalExit::SignalExit() {
  struct sigaction action = {};
  action.sa_handler = leave;
  for (const StopSignal& stop : kStopSignals) {
    if (stays_ignored(stop.number)) continue;
    Saved saved{stop.number, {}};
    if (::sigaction(stop.number, &action, &saved.action) == 0) saved_.push_back(saved);
  }
}

SignalExit::~SignalExit() {
  for (const Saved& saved : saved_) ::sigaction(saved.signal, &saved.action, nullptr);
}

}  // namespace millrace
