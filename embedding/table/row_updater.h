// Updates of rows of any type by an optimizer for float32.
#ifndef MILLRACE_EMBEDDING_TABLE_ROW_UPDATER_H_
#define MILLRACE_EMBEDDING_TABLE_ROW_UPDATER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "embedding/rows/kernels.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/table/table_access.h"

namespace millrace {

// Collects rows of a table and updates them in one call:
//
//   updater.add(row, record, gradient);   // up to kRows times
//   updater.update();
//
// Gradients are scaled and clamped by UpdateContext::gradient_limit. 16-bit weights are widened for
// the optimizer and rounded stochastically after the update. The bits for the rounding are a
// function of (the table's key, id, step, column). Not thread-safe.
class RowUpdater {
 public:
  static constexpr size_t kRows = 16;

  // Borrows all arguments. `step`: the number of the step to commit.
  RowUpdater(TableWriteAccess& table, const RowOptimizer& optimizer, const UpdateContext& context,
             int64_t step);

  // Adds a row with its record. Borrows the gradient until update(). REQUIRES: fewer than kRows
  // rows were added since update().
  void add(RowIndex row, char* record, const float* gradient);
  // Updates the added rows.
  void update();

 private:
  // Replaces the gradients of the added rows by scaled and clamped gradients.
  void limit_gradients();
  int64_t next() const { return static_cast<int64_t>(updates_.size()); }
  void round(int64_t i);

  TableWriteAccess& table_;
  const Kernels& kernels_;
  const RowOptimizer& optimizer_;
  UpdateContext context_;  // for the optimizer
  const int64_t step_;
  const int64_t dim_;
  const int64_t weight_bytes_;
  const int type_;
  const bool widens_;
  const bool limits_;
  const float gradient_scale_;
  const float gradient_limit_;
  std::vector<float> weights_;    // [kRows, dim]: widened
  std::vector<float> gradients_;  // [kRows, dim]: scaled and limited
  std::vector<RowUpdate> updates_;
  std::vector<RowIndex> rows_;
};

// The distinct rows of a step, including tentative ones, with their records and numbers of
// occurrences.
struct SeenRows {
  absl::Span<const RowIndex> rows;
  absl::Span<char* const> records;
  absl::Span<const uint32_t> counts;
};

// Updates each row that has a gradient, in several calls of the optimizer, and records the
// occurrences of all rows. Calls `read(begin, end)` in order for the gradients of rows [begin,
// end), at most RowUpdater::kRows. The result is valid until the next call; null: no gradient. The
// caller must call EmbeddingTable::commit() next.
void update_rows(TableWriteAccess& table, const RowOptimizer& optimizer,
                 const UpdateContext& context, int64_t step, const SeenRows& seen,
                 absl::FunctionRef<const float* const*(size_t begin, size_t end)> read);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_ROW_UPDATER_H_
