// Other ranks that a rank waits for, as text for people.
#ifndef MILLRACE_JOB_HEALTH_AWAITED_RANKS_H_
#define MILLRACE_JOB_HEALTH_AWAITED_RANKS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Another rank that this rank waits for.
struct AwaitedRank {
  int64_t rank = 0;
  std::string phase;
  int64_t step = 0;  // of the phase
};

// Returns "rank 1 (data of step 12), rank 2 (forward of step 12)", at most the first three ranks
// and the number of the others; "other ranks" for none.
std::string awaited_text(const std::vector<AwaitedRank>& ranks);

}  // namespace millrace

#endif  // MILLRACE_JOB_HEALTH_AWAITED_RANKS_H_
