// The decision of all ranks to apply or refuse a step, before anything changes.
#ifndef MILLRACE_FRAMEWORK_RANKS_COMMIT_EXCHANGE_H_
#define MILLRACE_FRAMEWORK_RANKS_COMMIT_EXCHANGE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "distributed/collectives.h"
#include "framework/ranks/agreement.h"
#include "framework/ranks/gradient_buckets.h"
#include "framework/ranks/table_exchange.h"
#include "optim/dense/dense_optimizer.h"

namespace millrace {

// Results of this rank's micro-batches.
struct CommitInput {
  // Examples of the whole step, the divisor of losses before their backward passes.
  int64_t examples = 0;
  // float32 [], or [losses] if there are several: sums over micro-batches. Undefined: this rank had
  // no examples.
  at::Tensor loss;
  // float32 []: the divisor of the step's summed loss, summed over micro-batches; undefined: the
  // examples. Either all ranks with examples set targets, or none.
  at::Tensor targets;
  // Factor of these gradients, by which the exchange divides.
  double loss_scale = 1;
  // Other non-finite values, such as "the gradient of table items (feature clicked)"; "": none.
  std::string non_finite;
};

struct CommitDecision {
  bool apply = false;
  std::string refused;  // if refused, the non-finite value and its rank; for a sum, without a rank
  at::Tensor loss;      // float32 [] or [losses]: means over the targets of the whole step
  // examples / targets / loss_scale. Dense gradients are already multiplied by this factor, table
  // gradients are not yet.
  double gradient_scale = 1;
  double targets = 0;  // sum of CommitInput::targets of the whole step; 0 if they are undefined
};

// Sums dense gradients over ranks and, in a separate sum at the same time, makes the decision: one
// non-finite value, on any rank or in the sums, refuses the step on all ranks. A rank whose step
// failed takes part as failed, so that all ranks stop before the step is applied. For tables
// sharded over ranks, the owners of the rows first receive the sums of gradients, and the owners'
// totals join the decision. One for each trainer; used on its thread.
class CommitExchange {
 public:
  // Borrows all arguments. `tables`: null if the model has none.
  CommitExchange(Agreement& agreement, absl::Span<const NamedParameter> parameters,
                 TableExchange* tables = nullptr);

  // Called by the trainer before each step. `losses`: the size of the vector of losses that ranks
  // sum; 0: the loss is one number. Equal on all ranks.
  void begin_step(int64_t step, size_t losses = 0);
  // Reports the phase of this rank to other ranks: kForward, kBackward, kUpdate.
  void enter(RankPhase phase);

  // Waits for the step exchange, sums gradients, multiplies them by examples / targets / loss_scale
  // and decides. Called once for each step, after the last backward pass. Errors: Aborted if
  // another rank failed; InvalidArgument if only some ranks set targets or their sum is not
  // positive.
  absl::StatusOr<CommitDecision> run(const CommitInput& input);

  // Called by the trainer if the step of this rank failed before run(). Returns `failure`.
  absl::Status fail(const absl::Status& failure);
  bool decided() const { return decided_; }

 private:
  struct Sums;
  // Sums the values of all ranks. `tables`: TableExchange::totals() of this rank.
  absl::StatusOr<Sums> sum(const CommitInput& input, absl::Span<const double> tables,
                           const absl::Status& failure);
  absl::StatusOr<std::string> first_reason(const std::string& own, int64_t ranks);
  bool device_gradients_are_finite() const;
  std::string non_finite_gradient() const;

  Agreement& agreement_;
  const absl::Span<const NamedParameter> parameters_;
  TableExchange* const tables_;
  GradientBuckets buckets_;
  int64_t step_ = 0;
  size_t losses_ = 0;
  bool decided_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_RANKS_COMMIT_EXCHANGE_H_
