// FTRL-proximal on rows.
#ifndef MILLRACE_OPTIM_ROWS_SPARSE_FTRL_H_
#define MILLRACE_OPTIM_ROWS_SPARSE_FTRL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// H. B. McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, algorithm 1:
// with g = gradient_scale × gradient and α = learning_rate, for each column:
//   1/η ← (beta + √(n + g²)) / α
//   z   ← z + g − (1/η − 1/η before) × w
//   n   ← n + g²
//   w   ← 0 if |z| ≤ l1, else (sgn(z) × l1 − z) / (1/η + l2)
// which is a learning rate power of −½. Slots "z" [dim] begins at 0 and "n" [dim] at
// initial_accumulator.
//
// z begins such that w has the initial weights of the row, and a change of the learning rate alone
// does not change weights: wherever w is not 0, z follows from w and is computed from w as
//   z = −w × (1/η before + l2) − sgn(w) × l1,
// so that the update is w ← w − g / (1/η + l2) as long as w keeps its sign. The slot z therefore
// matters only where w is 0, and needs no initial value from the weights. (For a constant α, z of
// the slot is the same in exact arithmetic.)
//
// l1 keeps a weight at 0 until the sum of its gradients exceeds l1; l2 shortens steps. Neither
// changes a weight without a gradient. An l2 of x in TensorFlow equals an l2 of 2x here. At a
// learning rate of 0, weights and slots do not change; a weight with 1/η + l2 = 0 does not change.
class SparseFtrlOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for numbers that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseFtrl& config);

  absl::string_view name() const override { return "ftrl"; }
  std::vector<SlotSpec> slots(int64_t dim) const override {
    return {{"z", dim, 0.0f}, {"n", dim, initial_accumulator_}};
  }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseFtrlOptimizer(const SparseFtrl& config)
      : beta_(static_cast<float>(config.beta())),
        l1_(static_cast<float>(config.l1())),
        l2_(static_cast<float>(config.l2())),
        initial_accumulator_(static_cast<float>(config.initial_accumulator())) {}

  float beta_;
  float l1_;
  float l2_;
  float initial_accumulator_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_SPARSE_FTRL_H_
