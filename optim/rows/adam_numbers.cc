#include "optim/rows/adam_numbers.h"

#include "base/isa/instruction_set_choice.h"
#include "base/status_macros.h"
#include "proto/range_check.h"

namespace millrace {

absl::StatusOr<AdamNumbers> adam_numbers(absl::string_view name, const SparseAdam& config) {
  RETURN_IF_ERROR(check_ranges(name, config));
  AdamNumbers numbers;
  numbers.beta1 = config.beta1();
  numbers.beta2 = config.beta2();
  numbers.epsilon = config.epsilon();
  numbers.row_steps = config.step_count() == SparseAdam::ROW;
  return numbers;
}

std::vector<SlotSpec> adam_slots(const AdamNumbers& numbers, int64_t dim) {
  std::vector<SlotSpec> slots = {{"exp_avg", dim, 0.0f}, {"exp_avg_sq", dim, 0.0f}};
  if (numbers.row_steps) slots.push_back({"step", 1, 0.0f});
  return slots;
}

void update_adam_rows(InstructionSet set, const AdamNumbers& numbers, int64_t dim,
                      absl::Span<const RowUpdate> rows) {
  choose(set, baseline::update_adam, avx2::update_adam, avx512::update_adam)(
      numbers, dim, rows.data(), rows.size());
}

}  // namespace millrace
