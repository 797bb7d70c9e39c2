// The update rule of a row.
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

// One named part of an optimizer's state of a row.
struct SlotSpec {
  std::string name;   // unique within an optimizer, such as "exp_avg"; part of checkpoints
  int64_t size = 0;   // number of float32 values
  float initial = 0;  // value of each number in a new row
  friend bool operator==(const SlotSpec&, const SlotSpec&) = default;
};

// The parameters of a step that all rows of a table share.
struct UpdateContext {
  double learning_rate = 0;  // finite, at least 0
  // The number of updates of this table, including the current one: t of bias corrections. At least
  // 1.
  int64_t step = 1;
  // The factor of the gradient, applied first. Combines division by targets, unscaling of the loss
  // and clipping by norm. Finite.
  double gradient_scale = 1;
  // Each element of the scaled gradient is clamped to [-gradient_limit, gradient_limit]. Above 0.
  // If there is a limit, tables apply scale and limit themselves, and optimizers get no limit.
  double gradient_limit = std::numeric_limits<double>::infinity();
  // The instruction set of the arithmetic, which does not change results. The machine must support
  // it.
  InstructionSet instruction_set = best_instruction_set();
};

// Defines the state of a row and its update. Owns no rows. Immutable: update() may be called from
// several threads at once for different rows. Independent of LibTorch and of tables. The result for
// a row depends only on the arguments for that row, so rows may be divided over calls in any way.
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

  // Returns the name in the configuration: "sgd", "adagrad", ...
  virtual absl::string_view name() const = 0;

  // Returns the state of a row of `dim` columns; the same for every call.
  virtual std::vector<SlotSpec> slots(int64_t dim) const = 0;

  // Updates each of these distinct rows once, in place. Rows without a gradient in a step are not
  // included and keep their state.
  virtual void update(const UpdateContext& context, int64_t dim,
                      absl::Span<const RowUpdate> rows) const = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_OPTIMIZER_H_
