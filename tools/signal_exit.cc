#include "tools/signal_exit.h"

#include <unistd.h>

#include "absl/strings/string_view.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

constexpr absl::string_view kName[] = {"SIGTERM", "SIGINT", "SIGUSR1"};
constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1};

void say(absl::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// In a signal handler: system calls only.
[[noreturn]] void leave(int signal) {
  say("millrace: stopped by ");
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    if (kSignals[i] == signal) say(kName[i]);
  }
  say(" outside of training, where there is nothing to save: run again to go on\n");
  ::_exit(kExitRunAgain);
}

}  // namespace

SignalExit::SignalExit() {
  struct sigaction action = {};
  action.sa_handler = leave;
  for (const int signal : kSignals) {
    Saved saved{signal, {}};
    if (::sigaction(signal, &action, &saved.action) == 0) saved_.push_back(saved);
  }
}

SignalExit::~SignalExit() {
  for (const Saved& saved : saved_) ::sigaction(saved.signal, &saved.action, nullptr);
}

}  // namespace millrace
