// One table of rows that appear when their id does.
#ifndef MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
#define MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/shared_mutex.h"
#include "embedding/id_map/id_map.h"
#include "embedding/policies/admission.h"
#include "embedding/policies/eviction.h"
#include "embedding/rows/initializer.h"
#include "embedding/rows/kernels.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/rows/row_store.h"
#include "embedding/table/embedding_table_options.h"
#include "embedding/table/table_content.h"
#include "embedding/table/table_maintenance.h"
#include "embedding/table/table_parts.h"
#include "embedding/table/table_step.h"

namespace millrace {

// An id map, a row store, an initializer, and the rules that decide which ids have rows. Knows no
// LibTorch. This class has what a step does; content() serves checkpoints and those who load rows,
// maintenance() evicts and counts. The life of a row:
//
//   RETURN_IF_ERROR(table->bind(optimizer.slots(dim)));      // once, before the first row
//   RETURN_IF_ERROR(table->find_or_insert(ids, rows));       // admitted ids get tentative rows
//   ... change store().weights(row) and slots(row) ...
//   table->record_occurrences(step, rows, counts);
//   table->commit(step);                                     // now they are there
//   // or table->discard(): as if nothing had been
//   ASSIGN_OR_RETURN(counts, table->maintenance().evict({.step = step}));  // between steps
//
// Limits are enforced by commit(), for EVICT_LRU and EVICT_LFU; by find_or_insert(), for FAIL,
// which makes the step an error, and REJECT, which admits no id in steps that begin with a full
// table.
//
// Const methods may be called from many threads at once while nobody changes the table; the others
// need it for themselves. mutex() is there to see to it.
class EmbeddingTable {
 public:
  // Errors: InvalidArgument for an empty name, a dim outside 1 to 4096 or a bad initializer.
  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(EmbeddingTableOptions options);

  const std::string& name() const { return parts_.options.name; }
  int64_t dim() const { return parts_.options.dim; }
  int64_t added_columns() const { return parts_.options.added_columns; }
  const std::vector<SlotSpec>& slots() const { return parts_.store.slots(); }

  // Returns which ids this table holds the rows of: of a job with several ranks, those of this one.
  const Placement& placement() const { return parts_.options.placement; }
  // Errors: FailedPrecondition if there are rows already.
  absl::Status set_placement(const Placement& placement);

  // Gives rows the state an optimizer needs. Errors: FailedPrecondition if there are rows already
  // and their slots differ.
  absl::Status bind(std::vector<SlotSpec> slots);
  // Returns a table without rows of the same options and slots: rows from a file are gathered in
  // it, and TableContent::swap() gives this table all of them or none.
  std::unique_ptr<EmbeddingTable> make_empty() const;

  TableContent& content() { return content_; }
  const TableContent& content() const { return content_; }
  TableMaintenance& maintenance() { return maintenance_; }
  const TableMaintenance& maintenance() const { return maintenance_; }

  // Sets rows[i] to the row of ids[i], or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
    parts_.map.find(ids, rows);
  }
  // Writes what a row of this id holds when it appears.
  void initial_row(int64_t id, absl::Span<float> row) const { parts_.initializer.fill(id, row); }
  // Writes what an id without a row reads.
  void default_row(int64_t id, absl::Span<float> row) const;

  // Finds rows as find(), but gives unknown ids that are admitted a tentative row with its initial
  // value. Unknown ids that are not admitted read default_row(), and this occurrence is counted:
  // look up every occurrence in the step once. Errors: any error of check_room(); nothing is
  // inserted or counted then.
  absl::Status find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows);
  // The two halves of find_or_insert(), for those who look ids up in the map themselves: check_room
  // of the ids, then make_row for each occurrence that has no row.
  // Errors: ResourceExhausted if there are no row numbers left, or the limit of the table does not
  // allow as many rows and on_full is FAIL.
  absl::Status check_room(absl::Span<const int64_t> ids) const;
  // REQUIRES: the id has no row. Returns: a tentative one, or kNoRow if it is not admitted.
  RowIndex make_row(int64_t id);
  // True if an id without a row gets one in the present step; the same all through it.
  bool admits(int64_t id) const;
  // Records that an id without a row that is not admitted occurred `count` times in this step, as
  // make_row does for one occurrence.
  void record_unadmitted(int64_t id, uint32_t count) { parts_.unadmitted[id] += count; }
  IdMap& map() { return parts_.map; }
  const IdMap& map() const { return parts_.map; }

  // Checks that rows can note `step`; see check_table_step().
  absl::Status check_step(int64_t step) const { return check_table_step(name(), step); }
  // Records that `rows[i]` occurred `counts[i]` times in step `step`. May be called several times
  // per step with disjoint rows. REQUIRES: only record_occurrences() and commit() follow until the
  // step ends; check_step(step) is OK.
  void record_occurrences(int64_t step, absl::Span<const RowIndex> rows,
                          absl::Span<const uint32_t> counts);
  // Ends a step: tentative rows become permanent, and occurrences of ids without rows are counted.
  // Then the limit is enforced: rows may be gone. REQUIRES: `step` is above that of earlier calls.
  void commit(int64_t step);
  // Removes tentative rows. The content, and the counts of ids without rows, are as they were
  // before the step, if nothing was written to other rows.
  void discard();
  // Records lookups that changed nothing: in training (of a frozen table) or outside. Thread-safe.
  void record_reads(const ReadCounts& counts, bool in_training) const {
    (in_training ? parts_.frozen_reads : parts_.evaluated_reads).add(counts);
  }
  // Returns true inside a step: between its first new id, or over ranks its first request, and
  // commit() or discard(). Content must not change then.
  bool in_step() const { return parts_.in_step(); }
  // Sets whether a step over ranks refers to rows and their records, from before it changes any.
  void set_rows_held(bool held) { parts_.rows_held = held; }
  // Returns the number of steps committed; the t of bias corrections is one more. Part of the
  // table's state.
  int64_t applied_steps() const { return parts_.applied_steps; }

  // Sets the number of rows on all ranks of a table that is split over ranks, which limits of kind
  // FAIL and REJECT check in the present step. Without it such a table has no limit. EVICT
  // limits are not enforced by commit() of a table on several ranks.
  void set_rows_of_all_ranks(int64_t rows) { parts_.rows_of_all_ranks = rows; }
  // Checks that `rows` further rows, those of all ranks, may be added in this step. Errors: as
  // check_room().
  absl::Status check_new_rows(int64_t rows) const { return maintenance_.check_room(rows); }

  RowStore& store() { return parts_.store; }
  const RowStore& store() const { return parts_.store; }
  const Kernels& kernels() const { return parts_.kernels; }  // for this machine
  // Returns the key of the stochastic rounding of 16-bit rows.
  uint64_t rounding_key() const { return parts_.rounding_key; }
  // For those who work on the table from several threads (embedding/table/step_plan.h). Methods of
  // content() and maintenance() that say so hold it alone; the others do not touch it.
  SharedMutex& mutex() const { return parts_.mutex; }

 private:
  EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                 std::unique_ptr<Admission> admission, std::optional<EvictionRules> eviction);
  RowIndex add_row(int64_t id);  // a tentative one
  void count_unadmitted();

  TableParts parts_;
  TableMaintenance maintenance_{parts_};
  TableContent content_{parts_, maintenance_};
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
