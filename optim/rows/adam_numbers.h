// Options, slots and update of Adam and AdamW on rows.
#ifndef MILLRACE_OPTIM_ROWS_ADAM_NUMBERS_H_
#define MILLRACE_OPTIM_ROWS_ADAM_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "embedding/rows/row_optimizer.h"
#include "optim/rows/adam_kernel.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns betas, epsilon and the kind of step count of `config`, which the configuration names
// `name`; the caller sets the weight decay. Errors: InvalidArgument naming the field for a beta
// outside [0, 1) and for other numbers that are negative or not finite.
absl::StatusOr<AdamNumbers> adam_numbers(absl::string_view name, const SparseAdam& config);

// Returns the slots "exp_avg" and "exp_avg_sq" [dim], and "step" [1] if rows count their steps. All
// begin at 0.
std::vector<SlotSpec> adam_slots(const AdamNumbers& numbers, int64_t dim);

// Updates `rows` by the kernel of `set`. REQUIRES: has_instruction_set(set).
void update_adam_rows(InstructionSet set, const AdamNumbers& numbers, int64_t dim,
                      absl::Span<const RowUpdate> rows);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_ROWS_ADAM_NUMBERS_H_
