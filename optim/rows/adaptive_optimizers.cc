#include "optim/rows/adaptive_optimizers.h"

#include "base/isa/instruction_set_choice.h"
#include "base/status_macros.h"
#include "optim/rows/row_kernels.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_ranges("adagrad", config));
  return std::unique_ptr<RowOptimizer>(new SparseAdagradOptimizer(config));
}

void SparseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                    absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  choose(context.instruction_set, baseline::update_adagrad, avx2::update_adagrad,
         avx512::update_adagrad)(numbers, dim, rows.data(), rows.size());
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseRowwiseAdagradOptimizer::create(
    const SparseAdagrad& config) {
  RETURN_IF_ERROR(check_ranges("rowwise_adagrad", config));
  return std::unique_ptr<RowOptimizer>(new SparseRowwiseAdagradOptimizer(config));
}

void SparseRowwiseAdagradOptimizer::update(const UpdateContext& context, int64_t dim,
                                           absl::Span<const RowUpdate> rows) const {
  AdagradNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.weight_decay = weight_decay_;
  numbers.epsilon = epsilon_;
  choose(context.instruction_set, baseline::update_rowwise_adagrad, avx2::update_rowwise_adagrad,
         avx512::update_rowwise_adagrad)(numbers, dim, rows.data(), rows.size());
}

namespace {

// Returns the betas, epsilon and the step count of `config`, whose name in the configuration is
// `name`. The caller sets the weight decay.
// Errors: InvalidArgument naming the field for a beta outside [0, 1), and for other numbers that
// are negative or not finite.
absl::StatusOr<AdamNumbers> adam_numbers(absl::string_view name, const SparseAdam& config) {
  RETURN_IF_ERROR(check_ranges(name, config));
  AdamNumbers numbers;
  numbers.beta1 = config.beta1();
  numbers.beta2 = config.beta2();
  numbers.epsilon = config.epsilon();
  numbers.row_steps = config.step_count() == SparseAdam::ROW;
  return numbers;
}

// Updates `rows` by the kernel of `set`. REQUIRES: has_instruction_set(set).
void update_adam_rows(InstructionSet set, const AdamNumbers& numbers, int64_t dim,
                      absl::Span<const RowUpdate> rows) {
  choose(set, baseline::update_adam, avx2::update_adam, avx512::update_adam)(
      numbers, dim, rows.data(), rows.size());
}

}  // namespace

std::vector<SlotSpec> adam_slots(const AdamNumbers& numbers, int64_t dim) {
  std::vector<SlotSpec> slots = {{"exp_avg", dim, 0.0f}, {"exp_avg_sq", dim, 0.0f}};
  if (numbers.row_steps) slots.push_back({"step", 1, 0.0f});
  return slots;
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamOptimizer::create(
    const SparseAdam& config) {
  ASSIGN_OR_RETURN(AdamNumbers numbers, adam_numbers("adam", config));
  numbers.weight_decay = static_cast<float>(config.weight_decay());
  return std::unique_ptr<RowOptimizer>(new SparseAdamOptimizer(numbers));
}

void SparseAdamOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  AdamNumbers numbers = numbers_;
  numbers.rate = context.learning_rate;
  numbers.step = context.step;
  numbers.scale = static_cast<float>(context.gradient_scale);
  update_adam_rows(context.instruction_set, numbers, dim, rows);
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseAdamwOptimizer::create(
    const SparseAdam& config) {
  ASSIGN_OR_RETURN(AdamNumbers numbers, adam_numbers("adamw", config));
  numbers.corrects_first = true;
  return std::unique_ptr<RowOptimizer>(new SparseAdamwOptimizer(numbers, config.weight_decay()));
}

void SparseAdamwOptimizer::update(const UpdateContext& context, int64_t dim,
                                  absl::Span<const RowUpdate> rows) const {
  AdamNumbers numbers = numbers_;
  numbers.rate = context.learning_rate;
  numbers.step = context.step;
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.shrinkage = static_cast<float>(context.learning_rate * weight_decay_);
  update_adam_rows(context.instruction_set, numbers, dim, rows);
}

absl::StatusOr<std::unique_ptr<RowOptimizer>> SparseFtrlOptimizer::create(
    const SparseFtrl& config) {
  RETURN_IF_ERROR(check_ranges("ftrl", config));
  return std::unique_ptr<RowOptimizer>(new SparseFtrlOptimizer(config));
}

void SparseFtrlOptimizer::update(const UpdateContext& context, int64_t dim,
                                 absl::Span<const RowUpdate> rows) const {
  FtrlNumbers numbers;
  numbers.rate = static_cast<float>(context.learning_rate);
  numbers.scale = static_cast<float>(context.gradient_scale);
  numbers.beta = beta_;
  numbers.l1 = l1_;
  numbers.l2 = l2_;
  choose(context.instruction_set, baseline::update_ftrl, avx2::update_ftrl, avx512::update_ftrl)(
      numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
