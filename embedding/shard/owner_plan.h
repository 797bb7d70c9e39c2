// The requests of all ranks for this rank's rows of one table, in one step.
#ifndef MILLRACE_EMBEDDING_SHARD_OWNER_PLAN_H_
#define MILLRACE_EMBEDDING_SHARD_OWNER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/id_map/step_map.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/shard/record_memory.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/gradient_sums.h"

namespace millrace {

class TableWriteAccess;

// The owner's part of a sharded step. Until apply() the table is only read: an id without a row
// reads the initial values of its row if it is admitted.
//
//   plan.begin(training);
//   RETURN_IF_ERROR(plan.find(rank, ids));          // for each rank, any number of times
//   ... plan.has_record(rank, i), plan.copy_records(rank, to) ...
//   plan.set_sums(rank, counts, sums);              // for each rank with ids, in any order
//   plan.add_up();
//   plan.apply(optimizer, context, step);           // or plan.discard()
//
// The gradient of a row is the sum of the gradients of ranks, in the order of ranks: in float64,
// rounded once to float32. A single gradient is used without change. The occurrences of an id are
// added up over ranks. An id without lookups has no effect. Not thread-safe; different tables are
// independent.
class OwnerPlan {
 public:
  // Borrows the table. Others must not change the table between find() and apply().
  OwnerPlan(EmbeddingTable& table, const Placement& placement);

  // If `mean` is true, divides the gradient of a row by its occurrences on all ranks. Must be
  // called between steps. Default: false.
  void set_mean_gradients(bool mean) { mean_gradients_ = mean; }

  // Begins a step without requests. Outside training, ids without a row have no record.
  void begin(bool training);
  // Adds ids to the requests of a rank and finds their rows. Errors: InvalidArgument naming an id
  // of another rank; then nothing is added.
  absl::Status find(int rank, absl::Span<const int64_t> ids);
  size_t ids(int rank) const { return shares_[rank].ids.size(); }
  // Returns true if the i-th id of a rank has a row or, in training, gets one in this step.
  bool has_record(int rank, size_t i) const { return shares_[rank].found[i] != Found::kNone; }
  size_t records(int rank) const { return shares_[rank].records; }
  // Writes the records of all ids of a rank that have one, consecutively.
  void copy_records(int rank, char* to) const;
  // Sets records[n] to the record of the (first + n)-th id of a rank; null if the id has no record.
  // Records are valid until apply() or begin().
  void find_records(int rank, size_t first, absl::Span<const char*> records);

  // Sets the number of lookups of each id of a rank, and the gradients; null: none. Borrows
  // gradients until the step ends. REQUIRES: both have the length ids(rank); ids without a record
  // or with a count of 0 have no gradient.
  void set_sums(int rank, std::vector<uint32_t> counts, std::vector<const float*> sums);

  // Adds up counts and gradients of all ranks, once per step. Returns true if all sums are finite.
  // REQUIRES: set_sums() for all ranks with ids.
  bool add_up();
  // Returns the number of rows that apply() adds. REQUIRES: add_up().
  int64_t new_rows() const { return new_rows_; }
  // Returns the sum of squares of the gradients of all rows, in float64. REQUIRES: add_up().
  double squared_norm() const { return sums_.squared_norm(); }

  // Inserts new rows, in the order of ranks and of their ids; updates every row with a gradient;
  // commits the step. The caller must call begin() next. REQUIRES: as StepPlan::apply().
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);
  // Forgets counts and gradients; keeps ids.
  void discard();

 private:
  enum class Found : char { kNone, kRow, kNew };
  struct Share {  // the requests of a rank
    std::vector<int64_t> ids;
    std::vector<RowIndex> rows;
    std::vector<Found> found;
    size_t records = 0;  // number of ids with a record
    bool has_sums = false;
    std::vector<uint32_t> counts;
    std::vector<const float*> sums;
  };
  // Assigns places to looked-up rows, in the order of ranks, and adds up their counts. Sets
  // places[i] for the ids of a rank; kNoPlace without a row or a lookup.
  void merge(const Share& share, bool alone, std::vector<uint32_t>& places);
  void make_rows(TableWriteAccess& table);
  void forget_sums();

  EmbeddingTable& table_;
  const Placement placement_;
  bool training_ = false;
  bool mean_gradients_ = false;
  std::vector<Share> shares_;
  RecordMemory initial_;  // for find_records()
  // The distinct rows of all requests, in the order of ranks.
  bool added_up_ = false;
  bool sums_are_finite_ = false;
  int64_t new_rows_ = 0;
  StepMap map_;  // from ids to places
  std::vector<int64_t> row_ids_;
  std::vector<RowIndex> rows_;  // kNoRow: not inserted yet
  std::vector<uint32_t> counts_;
  SortedSummands summands_;
  GradientSums sums_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_OWNER_PLAN_H_
