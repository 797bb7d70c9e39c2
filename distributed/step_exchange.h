// The sum over ranks of each step: stop flag, requests, examples and health of every rank.
#ifndef MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_
#define MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"

namespace millrace {

// Numbers of requests of hooks. In the share of one rank each is 0 or 1; in the sum each is the
// number of ranks with that request.
struct RequestCounts {
  int64_t stop = 0;
  int64_t checkpoint = 0;
  int64_t reload = 0;
  std::vector<int64_t> evaluate;  // by evaluation set; of equal size on all ranks

  // Returns true if a number is not 0.
  bool any() const;
};

// The share of one rank in an exchange.
struct ExchangeInput {
  bool has_data = false;  // if true, this rank has data for the next step
  int64_t examples = 0;   // in all micro-batches of the next step
  // Targets of each task in these micro-batches. Empty means zeros.
  std::vector<int64_t> targets = {};
  // Committed rows that this rank holds of each table over ranks. Empty means zeros.
  std::vector<int64_t> rows = {};
  // Requests of hooks of this rank with scope kThisRank. An empty `evaluate` means zeros.
  RequestCounts requests;
  bool failed = false;      // if true, this rank failed, and all ranks end
  bool durable = false;     // if true, the files of this rank of the oldest save are on disk
  bool time_is_up = false;  // if true, this rank waited for data until no training time was left
  absl::Duration elapsed = absl::ZeroDuration();  // training time; the exchange uses rank 0's
  // Hash of all requests served so far and of the place in the loop. Equal on all ranks unless the
  // ranks diverged. The exchange compares 48 bits.
  uint64_t fingerprint = 0;
};

// The sum of all shares, equal on every rank.
struct ExchangeResult {
  int64_t ranks_with_data = 0;
  int64_t examples = 0;
  std::vector<int64_t> targets;  // of each task
  std::vector<int64_t> rows;     // of each table over ranks
  RequestCounts requests;
  int64_t failed = 0;                             // number of ranks
  int64_t durable = 0;                            // number of ranks
  int64_t time_is_up = 0;                         // number of ranks
  absl::Duration elapsed = absl::ZeroDuration();  // of rank 0
  bool diverged = false;                          // if true, two fingerprints differ
};

// One sum of int64 over ranks on the control channel. Runs at the same time as a step:
//
//   exchange.start(input);               // before the forward pass
//   ...
//   ASSIGN_OR_RETURN(result, exchange.finish());
//
// exchange.run(input) starts and finishes an exchange where no step runs.
//
// All ranks detect divergence alike, since all ranks receive the same sums. W fingerprints f are
// equal if and only if W * sum(f^2) = (sum f)^2 (Cauchy-Schwarz).
//
// Used by one thread.
class StepExchange {
 public:
  // Borrows `collectives`. `tables`: the number of tables over ranks. REQUIRES: all numbers are
  // >= 0 and equal on all ranks.
  StepExchange(Collectives& collectives, int64_t evaluation_sets, int64_t tasks = 0,
               int64_t tables = 0);

  // Starts an exchange. REQUIRES: no exchange is under way; input.requests.evaluate is empty or has
  // one entry for each set, input.targets for each task, and input.rows for each table.
  void start(const ExchangeInput& input);
  // Returns true between start() and finish().
  bool under_way() const { return pending_ != nullptr; }
  // Waits for the exchange under way and returns its result. Errors: any error of Collectives.
  absl::StatusOr<ExchangeResult> finish();
  // Calls start() and finish(). REQUIRES, Errors: as start() and finish().
  absl::StatusOr<ExchangeResult> run(const ExchangeInput& input);

 private:
  Collectives& collectives_;
  const int64_t evaluation_sets_;
  const int64_t tasks_;
  const int64_t tables_;
  std::vector<int64_t> values_;  // outlives the pending collective
  std::unique_ptr<PendingCollective> pending_;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_STEP_EXCHANGE_H_
