#include "distributed/wait_notice.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace millrace {

WaitNotice::WaitNotice(Clock& clock, absl::Duration deadline, NoticeTimes times)
    : clock_(clock),
      began_(clock.elapsed()),
      deadline_(deadline),
      interval_(times.interval),
      next_(began_ + times.first) {}

std::optional<std::string> WaitNotice::line_if_due(absl::string_view text) {
  const absl::Duration now = clock_.elapsed();
  if (now < next_) return std::nullopt;
  next_ = now + interval_;
  const bool ends = deadline_ < absl::InfiniteDuration();
  const absl::Duration shown = absl::Trunc(ends ? deadline_ - now : now - began_, absl::Seconds(1));
  // The end of the wait says more than "at most 0 longer".
  if (ends && shown <= absl::ZeroDuration()) return std::nullopt;
  return absl::StrCat("waiting ", text, ends ? ", at most " : ", for ", absl::FormatDuration(shown),
                      ends ? " longer" : " so far");
}

void WaitNotice::log_if_due(absl::string_view text) {
  if (const auto line = line_if_due(text)) MILLRACE_LOG(INFO) << *line;
}

}  // namespace millrace
