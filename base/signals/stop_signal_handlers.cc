#include "base/signals/stop_signal_handlers.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/signals/stop_signals.h"

namespace millrace {

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

}  // namespace millrace
