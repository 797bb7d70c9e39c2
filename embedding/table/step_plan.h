// What one step does with one table.
#ifndef MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_
#define MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/rows/kernels.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/pooling.h"

namespace millrace {

// Where the output of a lookup goes.
struct PoolingOutput {
  float* data = nullptr;  // of output row 0
  int64_t stride = 0;     // from one output row to the next, in numbers
  // The whole output of which this is a part is too large for the caches: better written past them.
  bool past_caches = false;
};

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
// (lookup, list, place), as Kernels::add_up does; with set_mean_gradients each coefficient is
// divided by the number of times that the id occurs in the step. A row all of whose lookups got no
// gradient is counted as seen but not updated. Ids that the table does not admit read its default
// and get no gradient.
//
// Called by one thread; different tables are independent.
class StepPlan {
 public:
  // The table is borrowed; nobody else may change it inside a step.
  explicit StepPlan(EmbeddingTable& table);

  // Chooses whether the gradient of a row is divided by the number of its occurrences in the step,
  // over all lookups, also those without a gradient; the weights of ids do not count. Between
  // steps. Default: false.
  void set_mean_gradients(bool mean) { mean_gradients_ = mean; }

  // Looks ids up, making tentative rows, and pools them (see IdLists). Lookups are numbered from 0.
  // `lists` and what it shows need not stay. Errors: those of EmbeddingTable::find_or_insert.
  absl::Status look_up(const IdLists& lists, const PoolingOutput& output);

  // The derivative of the loss by what that lookup put out, laid out like it, borrowed until the
  // step ends. Replaces an earlier one.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride);

  // Whether the gradients that were set, and their sums for all rows, are finite. Where each
  // gradient belongs to one id that has a row (no pooling, or lists of one id without weights), and
  // where sums might overflow, the sums are made for that, and kept for apply.
  bool gradients_are_finite();
  // The sum of squares of the gradients of all rows, in double.
  double squared_norm();

  // Updates every row that has a gradient, then commits the table's tentative rows, the counts
  // and last steps of all rows seen. The next step begins. REQUIRES: the table's slots are the
  // optimizer's, the context is in range.
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);

  // Ends the step as if it had not been.
  void discard();

  const EmbeddingTable& table() const { return *table_; }
  int64_t lookups() const { return static_cast<int64_t>(lookups_.size()); }
  // Occurrences of ids so far.
  int64_t occurrences() const { return static_cast<int64_t>(places_.size()); }
  // Distinct rows seen in this step, in the order of their first occurrence.
  absl::Span<const RowIndex> rows() const { return rows_; }
  // How often each of rows() occurred.
  absl::Span<const uint32_t> counts() const { return counts_; }

 private:
  struct SortedSummands;
  // Memory of a thread with which its plans take turns, so that it stays in the caches. Holds
  // nothing between calls, which do not nest; keeps its largest size until the thread ends.
  struct Scratch;
  struct Lookup {
    IdLists lists;  // after look_up, of the ids only how many there are
    // What lists shows: its owner may change it before the step ends.
    std::vector<int64_t> offsets;  // empty: not needed
    std::vector<float> weights;
    int64_t first = 0;    // its first occurrence in places_
    bool copies = false;  // IdLists::copies
    // Whether each number of the gradient has a part in the sum of a row: if sums are finite, it
    // is.
    bool told_by_sums = false;
    const float* gradient = nullptr;
    int64_t stride = 0;

    void keep_lists() {
      weights.assign(lists.weights.begin(), lists.weights.end());
      lists.weights = weights;
      if (copies) return;
      offsets.assign(lists.offsets.begin(), lists.offsets.end());
      lists.offsets = offsets;
    }
    // Whether all coefficients are 1.
    bool unweighted() const {
      const bool sum = lists.pooling == SUM && lists.weights.empty();
      return copies || sum || lists.pooling == FIRST_N;
    }
  };

  bool find_finite();
  void forget_sums() {
    added_up_ = false;
    finite_.reset();
  }
  // Adds up the gradients of each row and keeps the sums, unless that has been done. Returns:
  // whether they are finite.
  bool add_up();
  void provide_sum_memory(size_t sums);
  uint32_t largest_magnitude(const Lookup& lookup) const;
  // Whether sums of gradients up to that magnitude may be infinite.
  bool may_overflow(float largest) const;

  // Has the records of ids [begin, end) fetched, whose places are known, and sets found[i] to that
  // of each; `rows`: the distinct ones of the step so far.
  void resolve(const Lookup& lookup, int64_t begin, int64_t end, absl::Span<const RowIndex> rows,
               std::vector<const char*>& found);
  static Scratch& scratch();
  void sort_summands(SortedSummands& sorted) const;
  void place_summands(const Lookup& lookup, SortedSummands& sorted) const;
  // True if a coefficient depends on how often its id occurs.
  bool divides() const { return mean_gradients_ && places_.size() > rows_.size(); }
  // Have what stands at these places, if there are so many, fetched.
  void prefetch_rows(size_t begin, size_t end) const;
  void prefetch_sums(size_t begin, size_t end) const;
  void clear();

  EmbeddingTable* table_;
  const Kernels& kernels_;
  std::vector<Lookup> lookups_;
  std::vector<RowIndex> rows_;
  std::vector<char*> records_;  // of rows_
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> places_;  // of each occurrence: the place of its row in rows_
  bool mean_gradients_ = false;
  std::optional<bool> finite_;  // what gradients_are_finite said
  bool added_up_ = false;
  bool sums_are_finite_ = false;
  // If it has been added up, the gradient of each row: in sum_memory_, or the only summand, or
  // null.
  std::vector<const float*> sums_;
  std::vector<float> sum_memory_;
  std::deque<std::vector<char>> defaults_;  // of look_up: what ids without a row read
};

// Looks ids up without changing anything: an unknown id reads what its row would hold at first, or
// what the table says. May be called by many threads at once, also while a plan works on the table.
void look_up_read_only(const EmbeddingTable& table, const IdLists& lists,
                       const PoolingOutput& output);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_STEP_PLAN_H_
