// The lookups, gradients and update of one step for one table.
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
#include "embedding/table/step_lookups.h"

namespace millrace {

// Remembers every occurrence of an id in the lookups of a step (all its features and
// micro-batches), so that ids are hashed once, and the gradients of a row add up before its one
// update:
//
//   StepPlan plan(table);
//   plan.look_up(lists, output);                 // any number of times
//   plan.set_gradient(0, gradient, stride);      // for the lookups that got one, in any order
//   plan.apply(optimizer, context, step);        // or plan.discard()
//
// The gradient of a row is the sum of coefficient × gradient over its occurrences in the order
// (lookup, list, place), as Kernels::add_up does; with set_mean_gradients this sum is divided by
// the number of times that the id occurs in the step. A row all of whose lookups got no gradient is
// counted as seen but not updated. Ids that the table does not admit read its default and get no
// gradient.
//
// Called by one thread; different tables are independent.
class StepPlan {
 public:
  // The table is borrowed; nobody else may change it inside a step.
  explicit StepPlan(EmbeddingTable& table);

  // Chooses whether the gradient of a row is divided by the number of its occurrences in the step,
  // over all lookups, also those without a gradient; the weights of ids do not count. Between
  // steps. Default: false.
  void set_mean_gradients(bool mean) { lookups_.set_mean_gradients(mean); }

  // Looks ids up, making tentative rows, and pools them (see IdLists). Lookups are numbered from 0.
  // `lists` and what it shows need not stay. Errors: those of EmbeddingTable::find_or_insert.
  absl::Status look_up(const IdLists& lists, const PoolingOutput& output);

  // Sets the derivative of the loss by the output of a lookup, laid out like the output and
  // borrowed until the step ends. Replaces an earlier derivative.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride) {
    lookups_.set_gradient(lookup, gradient, stride);
  }

  // See StepLookups.
  bool gradients_are_finite() { return lookups_.gradients_are_finite(); }
  // The sum of squares of the gradients of all rows, in double.
  double squared_norm() { return lookups_.squared_norm(); }

  // Updates every row that has a gradient, then commits the table's tentative rows, the counts
  // and last steps of all rows seen. The next step begins. REQUIRES: the table's slots are the
  // optimizer's, the context is in range.
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);

  // Ends the step as if it had not been.
  void discard();

  const EmbeddingTable& table() const { return *table_; }
  int64_t lookups() const { return lookups_.lookups(); }
  // Returns the lookups of this step so far.
  StepLookups& step_lookups() { return lookups_; }
  // Distinct rows seen in this step, in the order of their first occurrence.
  absl::Span<const RowIndex> rows() const { return rows_; }
  // Returns the number of occurrences of each of rows().
  absl::Span<const uint32_t> counts() const { return lookups_.counts(); }

 private:
  // Prefetches the records of ids [begin, end), whose places are known, and sets found[i] to the
  // record of each id. `rows`: the distinct rows of the step so far.
  void resolve(const IdLists& lists, int64_t begin, int64_t end, absl::Span<const RowIndex> rows,
               std::vector<const char*>& found);
  void clear();

  EmbeddingTable* table_;
  StepLookups lookups_;  // numbers rows as rows_ does
  std::vector<RowIndex> rows_;
  std::vector<char*> records_;              // of rows_
  std::deque<std::vector<char>> defaults_;  // of look_up: what ids without a row read
};

// Looks ids up without changing anything: an unknown id reads what its row would hold at first, or
// what the table says. May be called by many threads at once, also while a plan works on the table.
// Returns the number of ids, repeated ids included, that have no row.
int64_t look_up_read_only(const EmbeddingTable& table, const IdLists& lists,
                          const PoolingOutput& output);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_
