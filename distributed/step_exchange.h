// What ranks tell one another with every step: the all-reduce stop flag and its companions.
#ifndef MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_
#define MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"

namespace millrace {

// What hooks ask for: of one rank, 0 or 1 each; summed, the number of ranks that ask.
struct RequestCounts {
  int64_t stop = 0;
  int64_t checkpoint = 0;
  int64_t reload = 0;
  std::vector<int64_t> evaluate;  // by evaluation set; as many on all ranks

  bool any() const;
};

// One rank's share of an exchange.
struct ExchangeInput {
  bool has_data = false;  // for the next step
  int64_t examples = 0;   // in all its micro-batches
  // What hooks of this rank asked for with scope kThisRank; without an evaluation set: none.
  RequestCounts requests;
  bool failed = false;   // something of this rank failed: all ranks end
  bool durable = false;  // this rank's files of the checkpoint under way are on disk
  absl::Duration elapsed = absl::ZeroDuration();  // training time; only rank 0's counts
  // Of everything served so far and of where in the loop this rank stands; equal on all ranks
  // unless they diverged. 48 bits of it are compared.
  uint64_t fingerprint = 0;
};

// The sum of all shares; the same on every rank.
struct ExchangeResult {
  int64_t ranks_with_data = 0;
  int64_t examples = 0;
  RequestCounts requests;
  // How many ranks failed, or have durable files.
  int64_t failed = 0;
  int64_t durable = 0;
  absl::Duration elapsed = absl::ZeroDuration();  // rank 0's
  bool diverged = false;                          // the fingerprints are not all equal
};

// One int64 sum over ranks on the control channel. Overlapped with a step:
//
//   exchange.start(input);               // before the forward pass
//   ...
//   ASSIGN_OR_RETURN(result, exchange.finish());
//
// or synchronous, where nothing can be overlapped: exchange.run(input).
//
// Divergence shows on every rank alike, also where the fingerprints' sum happens to fit: the sum
// of squares and the squared sum agree, W * sum(f^2) = (sum f)^2, only if all W are equal
// (Cauchy-Schwarz), and every rank sees the same sums.
//
// Used by one thread.
class StepExchange {
 public:
  // `collectives` is borrowed. All ranks have `evaluation_sets` alike; at least 0.
  StepExchange(Collectives& collectives, int64_t evaluation_sets);

  // REQUIRES: none is under way; input.requests.evaluate is empty or has one entry for each set.
  void start(const ExchangeInput& input);
  bool under_way() const { return pending_ != nullptr; }
  // The result of the one under way. Errors: those of Collectives.
  absl::StatusOr<ExchangeResult> finish();
  absl::StatusOr<ExchangeResult> run(const ExchangeInput& input);

 private:
  Collectives& collectives_;
  const int64_t evaluation_sets_;
  std::vector<int64_t> values_;  // lives as long as the collective
  std::unique_ptr<PendingCollective> pending_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_
