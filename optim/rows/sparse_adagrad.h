// Adagrad on rows, with a state for each column or one for the row.
#ifndef MILLRACE_OPTIM_ROWS_SPARSE_ADAGRAD_H_
#define MILLRACE_OPTIM_ROWS_SPARSE_ADAGRAD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "embedding/rows/row_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

// With g = gradient_scale × gradient + weight_decay × w, for each column:
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

// With g = gradient_scale × gradient + weight_decay × w, for each row:
//   sum ← sum + (mean of g² over the columns)
//   w   ← w − (learning_rate / (√sum + epsilon)) × g
// Slot "sum" [1] begins at initial_accumulator. Epsilon is added after the root. Weight decay is
// L2: a part of g, and so of the sum, only in the rows that a step touches. The sum of squares is
// computed in sixteen lanes (embedding/rows/row_math.h). This is EXACT_ROWWISE_ADAGRAD of FBGEMM,
// with its weight decay mode L2; D. Mudigere et al., "Software-hardware co-design for fast and
// scalable training of deep learning recommendation models", ISCA 2022, section 4.1.
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

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_SPARSE_ADAGRAD_H_
