// A collective without a wait.
#ifndef MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_
#define MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_

#include <utility>

#include "absl/status/status.h"
#include "distributed/collectives.h"

namespace millrace {

// A collective that could not begin, or whose result was available at once.
class EndedCollective : public PendingCollective {
 public:
  explicit EndedCollective(absl::Status result) : result_(std::move(result)) {}
  absl::Status wait() override { return result_; }

 private:
  const absl::Status result_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_
