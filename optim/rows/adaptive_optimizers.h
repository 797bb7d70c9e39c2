// Row optimizers with a rate for each number or row: Adagrad, Adam and FTRL.
#ifndef MILLRACE_OPTIM_ROWS_ADAPTIVE_OPTIMIZERS_H_
#define MILLRACE_OPTIM_ROWS_ADAPTIVE_OPTIMIZERS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "optim/rows/row_kernels.h"
#include "proto/config.pb.h"

namespace millrace {

// The update of each column, with g = gradient_scale × gradient + weight_decay × w:
//   sum ← sum + g²
//   w   ← w − learning_rate × g / (√sum + epsilon)
// Slot "sum" [dim] begins at initial_accumulator. Epsilon is added after the root. Weight decay is
// L2: a part of g, and so of the sum, only in the rows that a step touches. J. Duchi, E. Hazan, Y.
// Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12
// (2011); equal to torch::optim::Adagrad without lr_decay on the rows that a step touches.
class SparseAdagradOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for numbers that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdagrad& config);

  absl::string_view name() const override { return "adagrad"; }
  std::vector<SlotSpec> slots(int64_t dim) const override {
    return {{"sum", dim, initial_accumulator_}};
  }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseAdagradOptimizer(const SparseAdagrad& config)
      : initial_accumulator_(static_cast<float>(config.initial_accumulator())),
        epsilon_(static_cast<float>(config.epsilon())),
        weight_decay_(static_cast<float>(config.weight_decay())) {}

  float initial_accumulator_;
  float epsilon_;
  float weight_decay_;
};

// The update of each row, with g = gradient_scale × gradient + weight_decay × w:
//   sum ← sum + (mean of g² over the columns)
//   w   ← w − (learning_rate / (√sum + epsilon)) × g
// Slot "sum" [1] begins at initial_accumulator. Epsilon is added after the root. Weight decay is
// L2: a part of g, and so of the sum, only in the rows that a step touches. The sum of squares is
// computed in sixteen lanes (embedding/rows/row_math.h). The formula is EXACT_ROWWISE_ADAGRAD of
// FBGEMM, with its weight decay mode L2; D. Mudigere et al., "Software-hardware co-design for fast
// and scalable training of deep learning recommendation models", ISCA 2022, section 4.1.
class SparseRowwiseAdagradOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for numbers that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdagrad& config);

  absl::string_view name() const override { return "rowwise_adagrad"; }
  std::vector<SlotSpec> slots(int64_t dim) const override {
    return {{"sum", 1, initial_accumulator_}};
  }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseRowwiseAdagradOptimizer(const SparseAdagrad& config)
      : initial_accumulator_(static_cast<float>(config.initial_accumulator())),
        epsilon_(static_cast<float>(config.epsilon())),
        weight_decay_(static_cast<float>(config.weight_decay())) {}

  float initial_accumulator_;
  float epsilon_;
  float weight_decay_;
};

// Returns the slots of both classes: "exp_avg" and "exp_avg_sq" [dim], and "step" [1] if rows
// count their steps. All begin at 0.
std::vector<SlotSpec> adam_slots(const AdamNumbers& numbers, int64_t dim);

// The update of each column, with g = gradient_scale × gradient + weight_decay × w:
//   m ← m + (1 − beta1) × (g − m)
//   v ← v + (1 − beta2) × (g² − v)
//   w ← w − learning_rate × √(1 − beta2ᵗ) / (1 − beta1ᵗ) × m / (√v + epsilon)
// Slots "exp_avg" (m) and "exp_avg_sq" (v), [dim] each, begin at 0. Rows that a step does not touch
// keep their averages ("lazy"). Epsilon is added to the root of the uncorrected average, so that
// relative to the corrected average the effective value is epsilon / √(1 − beta2ᵗ), as in
// torch.optim.SparseAdam and the "epsilon hat" form of D. Kingma, J. Ba, "Adam: A method for
// stochastic optimization", ICLR 2015, end of section 2. (torch::optim::Adam corrects first.)
// Weight decay is L2, as in torch::optim::Adam (SparseAdam has none), but only in the rows that a
// step touches.
//
// The correction's t counts, by step_count,
//   TABLE: the steps applied to the table (UpdateContext::step), as SparseAdam does. A row that
//     occurs late for the first time makes a small first step: its averages begin at 0, and the
//     correction is nearly 1 by then.
//   ROW: the updates of the row, in a slot "step" [1] that begins at 0 and ends at 2^24.
class SparseAdamOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for a beta outside [0, 1) and for other numbers
  // that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdam& config);

  absl::string_view name() const override { return "adam"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return adam_slots(numbers_, dim); }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  explicit SparseAdamOptimizer(const AdamNumbers& numbers) : numbers_(numbers) {}

  AdamNumbers numbers_;  // except the numbers of the context
};

// The update of each column, with g = gradient_scale × gradient:
//   m ← m + (1 − beta1) × (g − m)
//   v ← v + (1 − beta2) × (g² − v)
//   w ← w − learning_rate × (weight_decay × w + m̂ / (√v̂ + epsilon)),
//       m̂ = m / (1 − beta1ᵗ), v̂ = v / (1 − beta2ᵗ)
// Slots and t as for SparseAdamOptimizer. Epsilon is added to the root of the *corrected* average.
// Weight decay is decoupled: a share of the weight is subtracted without an effect on the averages,
// only in the rows that a step touches; other rows do not shrink. I. Loshchilov, F. Hutter,
// "Decoupled weight decay regularization", ICLR 2019, algorithm 2, with the schedule in
// learning_rate; equal to torch::optim::AdamW on the rows that a step touches.
class SparseAdamwOptimizer : public RowOptimizer {
 public:
  // Creates the optimizer. Errors: InvalidArgument for a beta outside [0, 1) and for other numbers
  // that are negative or not finite.
  static absl::StatusOr<std::unique_ptr<RowOptimizer>> create(const SparseAdam& config);

  absl::string_view name() const override { return "adamw"; }
  std::vector<SlotSpec> slots(int64_t dim) const override { return adam_slots(numbers_, dim); }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override;

 private:
  SparseAdamwOptimizer(const AdamNumbers& numbers, double weight_decay)
      : numbers_(numbers), weight_decay_(weight_decay) {}

  AdamNumbers numbers_;  // except the numbers of the context
  double weight_decay_;
};

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

#endif  // MILLRACE_OPTIM_ROWS_ADAPTIVE_OPTIMIZERS_H_
