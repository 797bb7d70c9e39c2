#include "distributed/wait_notice.h"

#include "base/log.h"

namespace millrace {
namespace {

constexpr absl::Duration kFirst = absl::Seconds(5);
constexpr absl::Duration kInterval = absl::Seconds(30);

}  // namespace

WaitNotice::WaitNotice(Clock& clock, absl::Duration deadline)
    : clock_(clock), deadline_(deadline), next_(clock.elapsed() + kFirst) {}

void WaitNotice::log_if_due(absl::string_view text) {
  const absl::Duration now = clock_.elapsed();
  if (now < next_) return;
  next_ = now + kInterval;
  MILLRACE_LOG(INFO) << "waiting " << text << ", at most "
                     << absl::FormatDuration(absl::Trunc(deadline_ - now, absl::Seconds(1)))
                     << " longer";
}

}  // namespace millrace
