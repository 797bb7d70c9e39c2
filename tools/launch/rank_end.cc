#include "tools/launch/rank_end.h"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

// Returns the signal that killed a rank with this code; 0: none.
int signal_of(int code) {
  const int signal = code - 128;
  return signal > 0 && signal < NSIG ? signal : 0;
}

}  // namespace

bool is_failure(int code) { return code != kExitFinished && code != kExitRunAgain; }

bool can_restart_after(int code) { return code == kExitPeer || signal_of(code) != 0; }

std::string describe_end(int code) {
  const int signal = signal_of(code);
  if (signal == 0) return absl::StrCat("exited with code ", code);
  return absl::StrCat("was killed by signal ", signal, " (", ::strsignal(signal), ")");
}

bool is_progress_line(absl::string_view line) {
  // Figures of the hook `logger`: "step 200/400  epoch 1". Errors have "step 200: ".
  if (absl::ConsumePrefix(&line, "step ")) {
    const size_t end = line.find_first_not_of("0123456789/");
    return end == absl::string_view::npos || absl::StartsWith(line.substr(end), "  ");
  }
  constexpr size_t kDateDigits = 8;
  if (line.size() <= kDateDigits + 1 || line[0] != 'I') return false;
  const absl::string_view date = line.substr(1, kDateDigits);
  return std::all_of(date.begin(), date.end(), absl::ascii_isdigit) && line[kDateDigits + 1] == ' ';
}

const RankEnd& deciding_end(absl::Span<const RankEnd> ends) {
  const auto first = [&](auto condition) {
    const auto found = std::find_if(ends.begin(), ends.end(), condition);
    return found == ends.end() ? nullptr : &*found;
  };
  const RankEnd* end = first([](const RankEnd& end) {
    return is_failure(end.code) && end.code != kExitPeer && !end.forced;
  });
  for (const int code : {kExitRunAgain, kExitPeer}) {
    // The launcher itself stops a rank that is forced.
    if (end == nullptr) {
      end = first([code](const RankEnd& end) {
        return end.code == code && (code == kExitPeer || !end.forced);
      });
    }
  }
  return end == nullptr ? ends.front() : *end;
}

}  // namespace millrace
