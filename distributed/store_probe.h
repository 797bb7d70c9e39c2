// Finds the store of a job and checks, with a time limit, that the store answers.
#ifndef MILLRACE_DISTRIBUTED_STORE_PROBE_H_
#define MILLRACE_DISTRIBUTED_STORE_PROBE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/net/socket.h"
#include "distributed/master_lookup.h"

namespace millrace {

// Messages that a store understands, as bytes.
struct StoreGreeting {
  std::string hello;     // once, first
  std::string question;  // any number of times
  std::string answer;    // to each question
};

// A connection to a store that only checks whether the store answers. The store's own client may
// wait forever for a store that does not answer. Not thread-safe.
class StoreProbe {
 public:
  explicit StoreProbe(StoreGreeting greeting) : greeting_(std::move(greeting)) {}

  // Makes a new connection and asks; again, if the connection is closed without an answer. Errors:
  // Unavailable (the connection was refused, or something else than a store answered), which proves
  // that the store is gone; DeadlineExceeded (no answer, as of a frozen store or while the network
  // is down).
  absl::Status connect(const SocketAddress& address, absl::Duration timeout);
  // Asks on the existing connection. After any error the caller must call connect(), which finds
  // out whether the store is gone.
  absl::Status ask_again(absl::Duration timeout);
  void close() { socket_ = Socket(); }
  int descriptor() const { return socket_.get(); }  // -1: not connected

 private:
  absl::Status ask_for_answer(absl::string_view request, const Deadline& deadline);

  const StoreGreeting greeting_;
  Socket socket_;
};

// Tries the addresses that `find` returns in turn until a store answers. Calls `find` again every
// two seconds, also after it failed as Unavailable: rank 0 may be started again on another machine,
// whose address the name gets later. Logs that the rank waits for `awaited`. Returns the address of
// the store. Errors: Unavailable, after `timeout`; at once any other error of `find`.
absl::StatusOr<SocketAddress> find_store(absl::string_view awaited,
                                         absl::FunctionRef<FoundAddresses()> find,
                                         const StoreGreeting& greeting, absl::Duration timeout,
                                         Clock& clock = Clock::real());

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_STORE_PROBE_H_
