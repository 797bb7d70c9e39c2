#include "base/signals/stop_signals.h"

#include <atomic>

namespace millrace {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

void note_stop_signal(int number) {
  int none = 0;
  noted.compare_exchange_strong(none, number);
}

int noted_stop_signal() { return noted; }

void forget_stop_signals() { noted = 0; }

absl::string_view stop_signal_name(int number) {
  for (const StopSignal& stop : kStopSignals) {
    if (stop.number == number) return stop.name;
  }
  return "";
}

bool stays_ignored(int number) {
  struct sigaction current = {};
  return number == SIGHUP && ::sigaction(number, nullptr, &current) == 0 &&
         current.sa_handler == SIG_IGN;
}

void ignore_write_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
}

}  // namespace millrace
