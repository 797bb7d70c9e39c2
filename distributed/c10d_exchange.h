// Exchanges of messages by the all-to-all of a c10d backend.
#ifndef MILLRACE_DISTRIBUTED_C10D_EXCHANGE_H_
#define MILLRACE_DISTRIBUTED_C10D_EXCHANGE_H_

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace c10d {
class Backend;
}

namespace millrace {

// The time-out of collectives of a library. The supervisor decides that a collective takes too
// long: Gloo's own time-outs close all connections and name no rank.
inline constexpr std::chrono::milliseconds kNever = std::chrono::hours(24 * 100);

// One rank's part of exchanges in which each rank sends one message to every rank. A thread of this
// class runs the exchanges one after the other, in the order of start(): first the lengths of the
// messages, then the messages. Both are all-to-alls of the backend, so messages travel on its
// network and by its engine, also while the calling thread computes.
//
// Called by one thread.
class C10dExchange {
 public:
  // An exchange and its result. The result may be read once `ended` was called without an error.
  struct Transfer {
    at::Tensor sent;                      // uint8, the messages by receiver; dropped at the end
    std::vector<int64_t> sent_bytes;      // by receiver
    at::Tensor received;                  // uint8, the messages by sender
    std::vector<int64_t> received_bytes;  // by sender
    absl::Time announced;                 // when the lengths of all messages had arrived
    // Called once, on the thread of the class, with "" or the backend's error. After the first
    // error all later exchanges end with it, without messages.
    std::function<void(std::string error)> ended;
  };

  // `backend`: of `world_size` ranks, with no other user. All ranks start the same exchanges.
  C10dExchange(c10::intrusive_ptr<c10d::Backend> backend, int world_size);
  // Waits up to a second for exchanges under way. If one hangs, its thread and the backend stay
  // until the end of the process.
  ~C10dExchange();
  C10dExchange(const C10dExchange&) = delete;
  C10dExchange& operator=(const C10dExchange&) = delete;

  // Starts an exchange. `sent`: uint8 [sum of `sent_bytes`] on a device that the backend supports,
  // where `received` lies then, too; not changed before the end. `sent_bytes`: one for each rank.
  // Its sum must be above 0, also on a rank that sends nothing to others: a backend may refuse
  // empty tensors, so a rank sends itself a byte.
  std::shared_ptr<Transfer> start(at::Tensor sent, std::vector<int64_t> sent_bytes,
                                  std::function<void(std::string error)> ended);

 private:
  struct State;  // shared with the thread
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_C10D_EXCHANGE_H_
