// The lookups and the update of one table in a step on one rank.
#ifndef MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_
#define MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/pooler.h"
#include "embedding/table/pooling.h"
#include "embedding/table/record_source.h"
#include "embedding/table/step_lookups.h"

namespace millrace {

class TableWriteAccess;

// Records the occurrences of ids in all lookups of a step (all features and micro-batches), so that
// each lookup hashes its ids once and the gradients of a row are summed before its single update:
//
//   StepPlan plan(table);
//   plan.look_up(lists, output);                 // any number of times
//   plan.set_gradient(0, gradient, stride);     // for lookups with a gradient, in any order
//   plan.apply(optimizer, context, step);        // or plan.discard()
//
// The gradient of a row is the sum of coefficient × gradient over its occurrences in the order
// (lookup, list, place), as Kernels::add_up. With set_mean_gradients(true), the sum is divided by
// the number of occurrences of the id in the step. A row without a gradient in the step is counted
// as seen and not updated. Ids that the table does not admit read its default value and get no
// gradient.
//
// Not thread-safe; different tables are independent.
class StepPlan {
 public:
  // Borrows the table. Others must not change the table inside a step.
  explicit StepPlan(EmbeddingTable& table);

  // If `mean` is true, divides the gradient of a row by the number of its occurrences in the step,
  // over all lookups, including those without a gradient. The number does not depend on the weights
  // of ids. Must be called between steps. Default: false.
  void set_mean_gradients(bool mean) { lookups_.set_mean_gradients(mean); }

  // Looks up ids, inserts tentative rows, and pools the rows (see IdLists). Lookups are numbered
  // from 0. Copies what is needed of `lists`. Errors: as EmbeddingTable::find_or_insert().
  absl::Status look_up(const IdLists& lists, const PoolingOutput& output);

  // Sets the gradient of the output of a lookup, with the layout of the output. Borrowed until the
  // step ends. Replaces an earlier gradient.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride) {
    lookups_.set_gradient(lookup, gradient, stride);
  }

  // Returns StepLookups::gradients_are_finite().
  bool gradients_are_finite() { return lookups_.gradients_are_finite(); }
  // Returns the sum of squares of the gradients of all rows, in float64.
  double squared_norm() { return lookups_.squared_norm(); }

  // Updates every row that has a gradient, then commits the table's tentative rows and the counts
  // and last steps of all rows seen. Ends the step. REQUIRES: the table has the slots of the
  // optimizer; the context is within its ranges.
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);

  // Ends the step as if it had not begun.
  void discard();

  const EmbeddingTable& table() const { return *table_; }
  int64_t lookups() const { return lookups_.lookups(); }
  // Returns the lookups of this step so far.
  StepLookups& step_lookups() { return lookups_; }
  // Returns the distinct rows seen in this step, in the order of their first occurrence.
  absl::Span<const RowIndex> rows() const { return rows_; }
  // Returns the number of occurrences of each of rows().
  absl::Span<const uint32_t> counts() const { return lookups_.counts(); }

 private:
  // Prefetches the records of ids [begin, end), whose places are known, and sets found[i] to the
  // record of id i. `rows`: the distinct rows of the step so far.
  void resolve(const TableWriteAccess& table, const IdLists& lists, int64_t begin, int64_t end,
               absl::Span<const RowIndex> rows, std::vector<const char*>& found);
  void clear();

  EmbeddingTable* table_;
  StepLookups lookups_;  // has the row numbers of rows_
  std::vector<RowIndex> rows_;
  std::vector<char*> records_;              // of rows_
  std::deque<std::vector<char>> defaults_;  // for look_up(): records of ids without a row
};

// Looks up ids without changes: an id without a row reads the table's default value. May be called
// by several threads at the same time, also while a plan works on the table. Returns the number of
// ids without a row, including repeated ids.
int64_t look_up_read_only(const EmbeddingTable& table, const IdLists& lists,
                          const PoolingOutput& output);
// Does the same with the rows of `source`; the table gives type, dim and default values.
int64_t look_up_read_only(const EmbeddingTable& table, const RecordSource& source,
                          const IdLists& lists, const PoolingOutput& output);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_
