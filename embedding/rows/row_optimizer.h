// How one row learns.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_OPTIMIZER_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_OPTIMIZER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/isa/instruction_set.h"
#include "embedding/rows/row_update.h"

namespace millrace {

// One named part of the state that an optimizer keeps with each row.
struct SlotSpec {
  std::string name;   // unique within an optimizer, such as "exp_avg"; part of checkpoints
  int64_t size = 0;   // float32 numbers in it
  float initial = 0;  // what each of them is in a new row
  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

// What is the same for all rows of a table in one step.
struct UpdateContext {
  double learning_rate = 0;  // finite, at least 0
  // Updates applied to this table, the present one included: the t of bias corrections. At least 1.
  int64_t step = 1;
  // A factor of the gradient, applied first: division by targets, unscaling and clipping by norm in
  // one number. Finite.
  double gradient_scale = 1;
  // Each number of the scaled gradient is limited to [-gradient_limit, gradient_limit]. Above 0.
  // Tables apply scale and limit themselves where there is a limit: optimizers never see one.
  double gradient_limit = std::numeric_limits<double>::infinity();
  // What the arithmetic may use; results do not depend on it. One that this machine has.
  InstructionSet instruction_set = best_instruction_set();
};

// Knows the state of a row and how one update goes; owns no rows. Immutable: update may be called
// from several threads at once for different rows. It knows neither LibTorch nor tables. The
// result for a row depends on nothing but the arguments for that row: rows may be cut into
// calls in any way.
//
//   class Sgd : public RowOptimizer {
//     absl::string_view name() const override { return "sgd"; }
//     std::vector<SlotSpec> slots(int64_t dim) const override { return {}; }
//     void update(const UpdateContext& context, int64_t dim,
//                 absl::Span<const RowUpdate> rows) const override;
//   };
class RowOptimizer {
 public:
  virtual ~RowOptimizer() = default;

  // As in the configuration: "sgd", "adagrad", ...
  virtual absl::string_view name() const = 0;

  // The state of a row of `dim` columns; the same at every call.
  virtual std::vector<SlotSpec> slots(int64_t dim) const = 0;

  // One update for each of these distinct rows, in place. Rows that a step did not touch are not
  // among them and keep their state.
  virtual void update(const UpdateContext& context, int64_t dim,
                      absl::Span<const RowUpdate> rows) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_OPTIMIZER_H_
