// Finds the store of a job and checks, with a time limit, that the store answers.
#ifndef MILLRACE_DISTRIBUTED_STORE_PROBE_H_
#define MILLRACE_DISTRIBUTED_STORE_PROBE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/net/socket.h"

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

  // Makes a new connection and asks. Errors: Unavailable (nobody listens, or not a store),
  // DeadlineExceeded (no answer).
  absl::Status connect(const SocketAddress& address, absl::Duration timeout);
  // Asks on the existing connection. Errors: as connect(); after an error the caller must call
  // connect().
  absl::Status ask_again(absl::Duration timeout);
  void close() { socket_ = Socket(); }
  int descriptor() const { return socket_.get(); }  // -1: not connected

 private:
  absl::Status ask_for_answer(absl::string_view request, const Deadline& deadline);

  const StoreGreeting greeting_;
  Socket socket_;
};

// Tries the addresses in turn until a store answers. Returns the address of the store. Errors:
// Unavailable, after `timeout`.
absl::StatusOr<SocketAddress> find_store(const std::vector<SocketAddress>& addresses,
                                         const StoreGreeting& greeting, absl::Duration timeout);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_STORE_PROBE_H_
