#include "distributed/store_probe.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "distributed/wait_notice.h"

namespace millrace {

absl::Status StoreProbe::ask_for_answer(absl::string_view request, const Deadline& deadline) {
  RETURN_IF_ERROR(send_all(socket_, request, deadline));
  ASSIGN_OR_RETURN(std::string answer, receive_all(socket_, greeting_.answer.size(), deadline));
  if (answer == greeting_.answer) return absl::OkStatus();
  return absl::FailedPreconditionError("the answer is not that of a store");
}

absl::Status StoreProbe::connect(const SocketAddress& address, absl::Duration timeout) {
  constexpr absl::Duration kPause = absl::Milliseconds(50);
  const Deadline deadline(timeout);
  for (;;) {
    ASSIGN_OR_RETURN(socket_, connect_to(address, deadline));
    absl::Status status =
        ask_for_answer(absl::StrCat(greeting_.hello, greeting_.question), deadline);
    // A server that has ended refuses the next connection. What closes each one at once, as a proxy
    // does whose network is down, proves nothing.
    if (absl::IsUnavailable(status)) {
      if (deadline.left() > kPause) {
        Clock::real().sleep(kPause);
        continue;
      }
      status = absl::DeadlineExceededError(absl::string_view(status.message()));
    }
    if (absl::IsFailedPrecondition(status)) {
      status = absl::UnavailableError(absl::string_view(status.message()));
    }
    return annotate(status, absl::StrCat("what listens on port ", address.port(), " of ",
                                         address.ip(), " does not answer as the store of a job"));
  }
}

absl::Status StoreProbe::ask_again(absl::Duration timeout) {
  if (socket_.get() < 0) return absl::UnavailableError("not connected");
  return ask_for_answer(greeting_.question, Deadline(timeout));
}

absl::StatusOr<SocketAddress> find_store(absl::string_view awaited,
                                         absl::FunctionRef<FoundAddresses()> find,
                                         const StoreGreeting& greeting, absl::Duration timeout,
                                         Clock& clock) {
  // A store that takes longer may be frozen; the next try decides.
  constexpr absl::Duration kLongestTry = absl::Seconds(2);
  constexpr absl::Duration kLongestPause = absl::Milliseconds(500);
  constexpr absl::Duration kLookUpInterval = absl::Seconds(2);
  const absl::Duration deadline = clock.elapsed() + timeout;
  absl::Duration pause = absl::Milliseconds(20);
  WaitNotice notice(clock, deadline);
  FoundAddresses addresses;
  for (absl::Duration next_look_up = clock.elapsed();;) {
    if (clock.elapsed() >= next_look_up) {
      addresses = find();
      next_look_up = clock.elapsed() + kLookUpInterval;
    }
    absl::Status problem = addresses.status();
    if (!problem.ok() && !absl::IsUnavailable(problem)) return problem;
    for (size_t i = 0; addresses.ok() && i < addresses->size(); ++i) {
      const SocketAddress& address = addresses->at(i);
      const absl::Duration left = deadline - clock.elapsed();
      problem = StoreProbe(greeting).connect(address,
                                             std::clamp(left, absl::Milliseconds(10), kLongestTry));
      if (problem.ok()) return address;
    }
    if (clock.elapsed() + pause >= deadline) {
      return absl::UnavailableError(absl::string_view(problem.message()));
    }
    notice.log_if_due(awaited);
    clock.sleep(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace millrace
