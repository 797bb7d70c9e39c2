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
// so a learning rate power of −½. Slots "z" [dim] begins at 0 and "n" [dim] at initial_accumulator.
//
// A row starts where z gives back its initial weights, and a learning rate that changes does not
// move weights by itself: wherever w is not 0, z follows from it, and is made from it anew as
//   z = −w × (1/η before + l2) − sgn(w) × l1,
// by which the update is w ← w − g / (1/η + l2) as long as w keeps its sign. So z matters where w
// is 0 alone, and needs no start of its own. (Taking z from the slot is the same in exact
// arithmetic, for a constant α.)
//
// l1 keeps a weight at 0 until its gradients add up to more; l2 makes steps shorter. Neither pulls
// at a weight that no gradient moves. Others' l2 (TensorFlow's) counts twice. At a learning rate of
// 0 nothing changes, slots neither; where 1/η + l2 is 0, the weight stays.
class SparseFtrlOptimizer : public RowOptimizer {
 public:
  // Errors: InvalidArgument for numbers that are negative or not finite.
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
