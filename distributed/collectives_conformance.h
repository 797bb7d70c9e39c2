// What every version of Collectives must do, as tests.
#ifndef MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_
#define MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "distributed/collectives.h"

namespace millrace {

// What one rank does. It may run in a process of its own: it must not use GoogleTest, nor write to
// what the others see; what it finds wrong is the error that it returns.
using RankBody = std::function<absl::Status(std::unique_ptr<Collectives>)>;
// Runs the body on each rank of a new job. Returns: what each returned, by rank.
using RunRanks = std::function<std::vector<absl::Status>(const RankBody&)>;

// Tests the version that `run_ranks` gives, with `world_size` ranks, by GoogleTest's expectations.
// Every part is a job of its own.
void test_collectives_conformance(int world_size, const RunRanks& run_ranks);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_COLLECTIVES_CONFORMANCE_H_
