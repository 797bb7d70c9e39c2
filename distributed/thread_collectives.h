// Ranks as threads of one process: jobs of many ranks, as unit tests of seconds.
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

// A collective of one rank, for fault injection.
struct CollectiveCall {
  int rank = 0;
  int64_t ordinal = 0;  // of this rank's collectives, from 0, over all channels
  Channel channel = Channel::kData;
  RankPhase phase = RankPhase::kStart;
  int64_t step = 0;
};

struct ThreadRanksOptions {
  int world_size = 2;  // at least 1
  // Called on the rank's thread at the start of each collective. May block, which delays the rank.
  // An error kills the rank: its own collectives return the error, and the collectives of other
  // ranks an error that names the rank. Null: no injection. Must be safe to call from all ranks'
  // threads.
  std::function<absl::Status(const CollectiveCall&)> inject = nullptr;
  // Maximum time that a collective waits for ranks in a limited phase.
  absl::Duration timeout = absl::Seconds(60);
};

// Runs `body` on options.world_size threads, each with its rank's Collectives, and joins them. A
// rank whose body returns an error, or throws, fails as by Collectives::fail(); a rank whose body
// returns OK leaves the job. Returns the results of the bodies, by rank.
//
//   run_thread_ranks({.world_size = 3}, [&](std::unique_ptr<Collectives> collectives) {
//     return train_one_rank(std::move(collectives));
//   });
//
// Exchanges of the table channel detect callers that use their buffers too early: wait() fails if a
// message changed since start_exchange(), and received buffers contain 0xA5 until wait() returns.
std::vector<absl::Status> run_thread_ranks(
    const ThreadRanksOptions& options,
    const std::function<absl::Status(std::unique_ptr<Collectives>)>& body);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_THREAD_COLLECTIVES_H_
