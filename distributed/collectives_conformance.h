// The conformance suite of Collectives.
#ifndef MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_
#define MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "distributed/collectives.h"

namespace millrace {

// The work of one rank. May run in a separate process: must not use GoogleTest, and must not write
// to memory of other ranks. Returns its findings as an error.
using RankBody = std::function<absl::Status(std::unique_ptr<Collectives>)>;
// Runs the body on each rank of a new job. Returns the results by rank.
using RunRanks = std::function<std::vector<absl::Status>(const RankBody&)>;

// Tests the implementation of `run_ranks` with `world_size` ranks, by GoogleTest's expectations.
// Each part of the suite is a separate job.
void test_collectives_conformance(int world_size, const RunRanks& run_ranks);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_
