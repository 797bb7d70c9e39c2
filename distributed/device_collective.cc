#include "distributed/device_collective.h"

#include "base/clock.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr absl::Duration kBetweenQuestions = absl::Microseconds(20);

}  // namespace

absl::Status DeviceCollective::supervise() {
  Clock& clock = Clock::real();
  absl::Duration next_look = clock.elapsed() + kFirstLook;
  for (;;) {
    const absl::StatusOr<bool> ended = sum_->ended();
    // The error of an aborted sum is a consequence: the job's failure is the reason.
    RETURN_IF_ERROR(ended.ok() ? absl::OkStatus() : supervisor_.failure());
    if (!ended.ok()) {
      const absl::string_view message = ended.status().message();
      return supervisor_.explain_broken_connection(message.substr(0, message.find('\n')));
    }
    if (*ended) return absl::OkStatus();
    RETURN_IF_ERROR(supervisor_.failure());
    if (clock.elapsed() >= next_look) {
      RETURN_IF_ERROR(supervisor_.look_after(wait_));
      next_look = clock.elapsed() + kBetweenLooks;
    }
    clock.sleep(kBetweenQuestions);
  }
}

}  // namespace millrace
