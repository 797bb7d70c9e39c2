#include "tools/signal_exit.h"

#include <unistd.h>

#include "absl/strings/string_view.h"
#include "base/signals/signals.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

void say(absl::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Runs in a signal handler: system calls only.
[[noreturn]] void exit_on_signal(int signal) {
  say("millrace: stopped by ");
  say(stop_signal_name(signal));
  say(" outside of training, where there is nothing to save: run again to go on\n");
  ::_exit(kExitRunAgain);
}

}  // namespace

SignalExit::SignalExit() {
  struct sigaction action = {};
  action.sa_handler = exit_on_signal;
  handlers_.install(action).IgnoreError();  // without it signals have their usual effect
}

}  // namespace millrace
