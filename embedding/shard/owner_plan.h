// The requests of all ranks for the rows of one table that this rank holds, in one step.
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

// The side of the rank that owns ids. The table is only read until apply(): an id without a row
// reads what its row would begin with.
//
//   plan.begin(training);
//   RETURN_IF_ERROR(plan.find(rank, ids));          // of each rank, any number of times
//   ... plan.has_record(rank, i), plan.copy_records(rank, to) ...
//   plan.set_sums(rank, counts, sums);              // of each rank with ids, in any order
//   plan.add_up();
//   plan.apply(optimizer, context, step);           // or plan.discard()
//
// The gradient of a row is the sum of the ranks' gradients, in the order of ranks: in double,
// rounded once to float32. The gradient of one rank alone is used without change. Occurrences of an
// id are added up over ranks. An id that no rank looked up has no effect. For one thread; different
// tables are independent.
class OwnerPlan {
 public:
  // Borrows the table, which must not be changed by others between find() and apply().
  OwnerPlan(EmbeddingTable& table, const Placement& placement);

  // Chooses whether the gradient of a row is divided by its occurrences on all ranks. Between
  // steps. Default: false.
  void set_mean_gradients(bool mean) { mean_gradients_ = mean; }

  // Forgets the step before. Outside training, ids without a row have no record.
  void begin(bool training);
  // Adds ids to the requests of a rank and finds their rows. Errors: InvalidArgument naming an id
  // that another rank owns; nothing is added then.
  absl::Status find(int rank, absl::Span<const int64_t> ids);
  size_t ids(int rank) const { return shares_[rank].ids.size(); }
  // Returns true if the i-th id of a rank has a row or, in training, gets one in this step.
  bool has_record(int rank, size_t i) const { return shares_[rank].found[i] != Found::kNone; }
  size_t records(int rank) const { return shares_[rank].records; }
  // Writes the records of all ids of a rank that have one, without gaps.
  void copy_records(int rank, char* to) const;
  // Sets records[n] to the record of the (first + n)-th id of a rank; null if the id has none.
  // Records are valid until apply() or begin().
  void find_records(int rank, size_t first, absl::Span<const char*> records);

  // Sets how often a rank looked up each of its ids, and the gradients; null: none. Gradients are
  // borrowed until the step ends. REQUIRES: both are as long as ids(rank); ids without a record or
  // a count have no gradient.
  void set_sums(int rank, std::vector<uint32_t> counts, std::vector<const float*> sums);

  // Adds up counts and gradients of all ranks, unless that has been done. Returns true if all sums
  // are finite. REQUIRES: set_sums() for all ranks that have ids.
  bool add_up();
  // Returns the number of rows that apply() adds. REQUIRES: add_up().
  int64_t new_rows() const { return new_rows_; }
  // Returns the sum of squares of the gradients of all rows, in double. REQUIRES: add_up().
  double squared_norm() const { return sums_.squared_norm(); }

  // Makes new rows, in the order of ranks and of their ids; updates every row that has a gradient;
  // commits the step. The caller calls begin() next. REQUIRES: as StepPlan::apply().
  void apply(const RowOptimizer& optimizer, const UpdateContext& context, int64_t step);
  // Forgets counts and gradients; ids are kept.
  void discard();

 private:
  enum class Found : char { kNone, kRow, kNew };
  struct Share {  // of a rank
    std::vector<int64_t> ids;
    std::vector<RowIndex> rows;
    std::vector<Found> found;
    size_t records = 0;  // ids that have one
    bool has_sums = false;
    std::vector<uint32_t> counts;
    std::vector<const float*> sums;
  };
  // Gives rows that were looked up their places in the order of ranks, and adds up their counts.
  // Sets places[i] of the ids of a rank; kNoPlace: no row, or not looked up.
  void merge(const Share& share, bool alone, std::vector<uint32_t>& places);
  void make_rows(TableWriteAccess& table);
  void forget_sums();

  EmbeddingTable& table_;
  const Placement placement_;
  bool training_ = false;
  bool mean_gradients_ = false;
  std::vector<Share> shares_;
  RecordMemory initial_;  // of find_records()
  // The rows of all ranks' requests, each once, in the order of ranks.
  bool added_up_ = false;
  bool sums_are_finite_ = false;
  int64_t new_rows_ = 0;
  StepMap map_;  // of ids, to their place
  std::vector<int64_t> row_ids_;
  std::vector<RowIndex> rows_;  // kNoRow: not made yet
  std::vector<uint32_t> counts_;
  SortedSummands summands_;
  GradientSums sums_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_OWNER_PLAN_H_
