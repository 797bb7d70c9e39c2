// Ranks as threads of one process: what a job does with many ranks, as a unit test of seconds.
#ifndef MILLRACE_DISTRIBUTED_THREAD_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_THREAD_COLLECTIVES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"

namespace millrace {

// One collective of one rank, as fault injection sees it.
struct CollectiveCall {
  int rank = 0;
  int64_t ordinal = 0;  // of this rank's collectives, from 0, over all channels
  Channel channel = Channel::kData;
  RankPhase phase = RankPhase::kStart;
  int64_t step = 0;
};

struct ThreadRanksOptions {
  int world_size = 2;  // at least 1
  // Called on the rank's thread when it starts a collective. It may block, which delays the rank;
  // an error makes the rank die there: its own collectives return the error, the others' one that
  // names it. Null: nothing is injected. Must be safe to call from all ranks' threads.
  std::function<absl::Status(const CollectiveCall&)> inject = nullptr;
  // How long a collective waits for ranks that are in a limited phase.
  absl::Duration timeout = absl::Seconds(60);
};

// Exchanges of the table channel find callers that use their buffers too early: wait() fails if a
// message changed since start_exchange(), and received buffers hold 0xA5 until it returns.
//
// Runs `body` on options.world_size threads, each with its rank's Collectives, and joins them. A
// rank whose body returns an error, or throws, fails as by Collectives::fail; one whose body
// returns leaves the job. Returns: what each rank's body returned, by rank.
//
//   run_thread_ranks({.world_size = 3}, [&](std::unique_ptr<Collectives> collectives) {
//     return train_one_rank(std::move(collectives));
//   });
std::vector<absl::Status> run_thread_ranks(
    const ThreadRanksOptions& options,
    const std::function<absl::Status(std::unique_ptr<Collectives>)>& body);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_THREAD_COLLECTIVES_H_
