// What one step does with one table.
#ifndef MILLRACE_EMBEDDING_STEP_PLAN_H_
#define MILLRACE_EMBEDDING_STEP_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/embedding_table.h"
#include "embedding/pooling.h"
#include "embedding/row_index.h"
#include "embedding/row_optimizer.h"

namespace millrace {

// Remembers every occurrence of an id in the lookups of a step (all its features and micro-batches),
// so that ids are hashed once, and the gradients of a row add up before its one update:
//
//   StepPlan plan(table);
//   plan.look_up(lists, output, stride);         // any number of times
//   plan.set_gradient(0, gradient, stride);      // for the lookups that got one, in any order
//   plan.apply(optimizer, context, step);        // or plan.discard()
//
// The gradient of a row is the sum of coefficient × gradient over its occurrences in the order
// (lookup, list, place), in double, rounded once to float32. A row all of whose lookups got no
// gradient is counted as seen but not updated.
//
// Called by one thread; different tables are independent.
class StepPlan {
 public:
  // The table is borrowed; nobody else may change it inside a step.
  explicit StepPlan(EmbeddingTable& table) : table_(&table) {}

  // Looks ids up, making tentative rows, and pools them into `output` (see pool). Ids that are not
  // admitted read the table's default value, and their gradients go nowhere. Lookups are
  // numbered from 0. `lists` must stay until the step ends. Errors: those of find_or_insert.
  absl::Status look_up(const IdLists& lists, float* output, int64_t stride);

  // The derivative of the loss by what that lookup put out, laid out like it, borrowed until the
  // step ends. Replaces an earlier one.
  void set_gradient(int64_t lookup, const float* gradient, int64_t stride);

  // The sum of squares of the gradients of all rows, in double.
  double squared_norm();

  // Updates every row that has a gradient, then commits the table's tentative rows, the counts
  // and last steps of all rows seen. The next step begins. REQUIRES: the table's slots are the
  // optimizer's, the context is in range.
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);

  // Ends the step as if it had not been.
  void discard();

  int64_t lookups() const { return static_cast<int64_t>(lookups_.size()); }
  // Distinct rows seen in this step, in the order of their first occurrence.
  absl::Span<const RowIndex> rows() const { return rows_; }
  // How often each of rows() occurred.
  absl::Span<const uint32_t> counts() const { return counts_; }

 private:
  struct Lookup {
    IdLists lists;
    int64_t first = 0;  // its first occurrence in places_
    const float* gradient = nullptr;
    int64_t stride = 0;
  };
  // One summand of a row's gradient.
  struct Summand {
    const float* gradient;
    double coefficient;
  };

  void sort_summands();
  // The summed gradient of the row at place `place`, in `buffer` or where the only summand is.
  const float* reduce(uint32_t place, float* buffer) const;
  void add_place(RowIndex row);
  void clear();

  EmbeddingTable* table_;
  std::vector<Lookup> lookups_;
  std::vector<RowIndex> rows_;
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> places_;    // of each occurrence: the place of its row in rows_, or kNoPlace
  std::vector<uint32_t> begins_;    // [rows + 1]: where the summands of each row begin
  std::vector<Summand> summands_;   // row after row
  std::vector<RowIndex> found_;     // scratch of look_up
  std::vector<const float*> weights_;  // scratch of look_up
  std::vector<float> defaults_;        // scratch of look_up: what ids without rows read
};

// Looks ids up without changing anything: an id without a row reads the table's default value.
// May be called by many threads at once while nobody changes the table.
void look_up_read_only(const EmbeddingTable& table, const IdLists& lists, float* output,
                       int64_t stride);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_STEP_PLAN_H_
