#include "hooks/signal_stop_hook.h"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT, SIGUSR1};

// The first signal since start; 0: none. A signal handler can reach nothing but such globals.
std::atomic<int> received{0};
std::atomic<bool> terminated{false};  // whether SIGTERM or SIGINT was among them
std::atomic<bool> installed{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void handle(int signal) {
  int none = 0;
  received.compare_exchange_strong(none, signal);
  if (signal == SIGUSR1 || !terminated.exchange(true)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

const char* signal_name(int signal) {
  switch (signal) {
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    default: return "SIGUSR1";
  }
}

}  // namespace

SignalStopHook::~SignalStopHook() { restore(); }

absl::Status SignalStopHook::start(HookContext& context) {
  if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
  if (installed.exchange(true)) {
    return absl::FailedPreconditionError("another trainer of this process handles the signals");
  }
  received = 0;
  terminated = false;
  asked_ = false;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (int signal : kSignals) {
    Saved saved{signal, {}};
    if (::sigaction(signal, &action, &saved.action) != 0) {
      const int error = errno;
      restore();
      installed = false;
      return absl::InternalError(
          absl::StrCat("sigaction(", signal_name(signal), "): ", std::strerror(error)));
    }
    saved_.push_back(saved);
  }
  Requests& requests = context.requests();
  requests.before_exchange([this, &requests] { ask_if_signalled(requests); });
  return absl::OkStatus();
}

absl::Status SignalStopHook::end(HookContext&, const absl::Status&) {
  restore();
  return absl::OkStatus();
}

void SignalStopHook::ask_if_signalled(Requests& requests) {
  const int signal = saved_.empty() || asked_ ? 0 : received.load();
  if (signal == 0) return;
  asked_ = true;  // once is enough: nothing takes a stop back
  requests.stop(absl::StrCat("signal ", signal_name(signal)), Scope::kThisRank);
}

void SignalStopHook::restore() {
  if (saved_.empty()) return;
  for (const Saved& saved : saved_) ::sigaction(saved.signal, &saved.action, nullptr);
  saved_.clear();
  installed = false;
}

}  // namespace millrace
