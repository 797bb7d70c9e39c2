#include "hooks/signal_stop_hook.h"

#include <atomic>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "base/signals/signals.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

std::atomic<bool> terminated{false};  // true if SIGTERM or SIGINT came since start
std::atomic<bool> installed{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void handle(int signal) {
  note_stop_signal(signal);
  const bool ends = signal == SIGTERM || signal == SIGINT;
  if (!ends || !terminated.exchange(true)) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

SignalStopHook::~SignalStopHook() { restore(); }

absl::Status SignalStopHook::start(HookContext& context) {
  if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
  if (installed.exchange(true)) {
    return absl::FailedPreconditionError("another trainer of this process handles the signals");
  }
  forget_stop_signals();
  terminated = false;
  asked_ = false;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  const absl::Status status = handlers_.install(action);
  if (!status.ok()) installed = false;
  RETURN_IF_ERROR(status);
  Requests& requests = context.requests();
  requests.before_exchange([this, &requests] { ask_if_signalled(requests); });
  return absl::OkStatus();
}

absl::Status SignalStopHook::end(HookContext&, const absl::Status&) {
  restore();
  return absl::OkStatus();
}

void SignalStopHook::ask_if_signalled(Requests& requests) {
  const int signal = !handlers_.installed() || asked_ ? 0 : noted_stop_signal();
  if (signal == 0) return;
  asked_ = true;  // once is enough: a stop is never withdrawn
  requests.stop(absl::StrCat("signal ", stop_signal_name(signal)), Scope::kThisRank);
}

void SignalStopHook::restore() {
  if (!handlers_.installed()) return;
  handlers_.restore();
  forget_stop_signals();
  installed = false;
}

}  // namespace millrace
