// Whether a step is applied: decided by all ranks together, before anything changes.
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
#include "optim/dense_optimizer.h"

namespace millrace {

// What this rank's micro-batches gave.
struct CommitInput {
  // Examples of the whole step, by which losses were divided before their backward passes.
  int64_t examples = 0;
  // float32 [], or [losses] if there are several: the sums over micro-batches; undefined: this rank
  // had no examples.
  at::Tensor loss;
  // float32 []: what the step's summed loss is to be divided by, summed over micro-batches;
  // undefined: its examples. All ranks that had examples give it, or none.
  at::Tensor targets;
  // Factor of these gradients, by which they are divided.
  double loss_scale = 1;
  // What else was not finite ("the gradient of table items (feature clicked)"); "": nothing.
  std::string non_finite;
};

struct CommitDecision {
  bool apply = false;
  std::string refused;  // then: what was not finite, and on which rank; of a sum, on none
  at::Tensor loss;      // float32 [] or [losses]: means over the targets of the whole step
  // examples / targets / loss_scale: already in the dense gradients, not yet in the tables'.
  double gradient_scale = 1;
};

// Sums dense gradients over ranks and decides, in a sum of its own beside them: one value that is
// not finite, on any rank or in the sums, refuses the step on all. A rank whose step failed takes
// part as failed, so that all end before it is applied. Where tables are over ranks, the sums of
// their gradients go to the owners first, and the owners' totals into the decision. One for each
// trainer; used on its thread.
class CommitExchange {
 public:
  // Borrows all. `tables`: null if the model has none.
  CommitExchange(Agreement& agreement, absl::Span<const NamedParameter> parameters,
                 TableExchange* tables = nullptr);

  // The trainer's, before each step. `losses`: the size of the vector of losses that ranks add up;
  // 0: the loss is one number. The same on all ranks.
  void begin_step(int64_t step, size_t losses = 0);
  // Tells other ranks what this one is doing: kForward, kBackward, kUpdate.
  void enter(RankPhase phase);

  // Once for each step, after the last backward pass: waits for the step exchange, sums gradients,
  // multiplies them by examples / targets / loss_scale and decides. Errors: Aborted if another rank
  // failed; InvalidArgument if only some ranks gave targets or they do not add up to a positive
  // number.
  absl::StatusOr<CommitDecision> run(const CommitInput& input);

  // The trainer's: the step of this rank failed before run() was called. Returns: `failure`.
  absl::Status fail(const absl::Status& failure);
  bool decided() const { return decided_; }

 private:
  struct Sums;
  // `tables`: TableExchange::totals() of this rank.
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
