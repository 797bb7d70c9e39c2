// What errors of hooks do, and what hooks cost.
#ifndef MILLRACE_HOOK_HOOK_STATISTICS_H_
#define MILLRACE_HOOK_HOOK_STATISTICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace millrace {

enum class OnError {
  kFail,     // the error ends the run
  kWarn,     // the error is logged and counted; the run continues
  kDisable,  // as kWarn, and of further events the hook gets only `end`
};

// Statistics of one hook in one run on one rank.
struct HookStatistics {
  struct Event {
    int64_t calls = 0;
    absl::Duration time = absl::ZeroDuration();
  };
  int64_t errors = 0;
  std::string first_error;  // without the hook's name
  bool disabled = false;    // after an error
  std::map<std::string, Event>
      events;  // name of the event → its calls; only those that were called
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_HOOK_STATISTICS_H_
