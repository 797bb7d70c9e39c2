// A collective for which nobody has to wait.
#ifndef MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_
#define MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_

#include <utility>

#include "absl/status/status.h"
#include "distributed/collectives.h"

namespace millrace {

// One that was over when it was started: it could not begin, or its result was there at once.
class EndedCollective : public PendingCollective {
 public:
  explicit EndedCollective(absl::Status result) : result_(std::move(result)) {}
  absl::Status wait() override { return result_; }

 private:
  const absl::Status result_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENDED_COLLECTIVE_H_
