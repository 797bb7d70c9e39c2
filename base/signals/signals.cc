#include "base/signals/signals.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

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

absl::Status StopSignalHandlers::install(const struct sigaction& action) {
  for (const StopSignal& stop : kStopSignals) {
    if (stays_ignored(stop.number)) continue;
    Saved saved{stop.number, {}};
    if (::sigaction(stop.number, &action, &saved.action) != 0) {
      const int error = errno;
      restore();
      return absl::InternalError(
          absl::StrCat("sigaction(", stop.name, "): ", std::strerror(error)));
    }
    saved_.push_back(saved);
  }
  return absl::OkStatus();
}

void StopSignalHandlers::restore() {
  for (const Saved& saved : saved_) ::sigaction(saved.signal, &saved.action, nullptr);
  saved_.clear();
}

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace millrace
