#include "distributed/name_lookup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "distributed/wait_notice.h"

namespace millrace {

FoundAddresses await_addresses(const std::string& host, absl::Duration timeout,
                               absl::FunctionRef<FoundAddresses()> find, Clock& clock) {
  constexpr absl::Duration kLongestPause = absl::Seconds(2);
  const absl::Duration deadline = clock.elapsed() + timeout;
  absl::Duration pause = absl::Milliseconds(100);
  WaitNotice notice(clock, deadline);
  const std::string awaited = absl::StrCat("for the name of the master, ", host, ", to be known");
  for (;;) {
    FoundAddresses addresses = find();
    if (addresses.ok() || clock.elapsed() + pause >= deadline) return addresses;
    notice.log_if_due(awaited);
    clock.sleep(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace millrace
