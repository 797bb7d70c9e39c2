// An embedding table: rows that are created when their id first occurs.
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

// An id map, a row store, an initializer, and the rules that decide which ids have rows. Does not
// depend on LibTorch. This class has the operations of a step; content() saves and loads rows;
// maintenance() evicts and counts. Steps read and change rows through TableReadAccess and
// TableWriteAccess (table_access.h), which hold the table's lock. The life of a row:
//
//   RETURN_IF_ERROR(table->bind(optimizer.slots(dim)));      // once, before the first row
//   RETURN_IF_ERROR(table->find_or_insert(ids, rows));       // admitted ids get tentative rows
//   ... change weights and slots ...
//   table->record_occurrences(step, rows, counts);
//   table->commit(step);                                     // the rows are permanent
//   // or table->discard(): as if the step had not begun
//   ASSIGN_OR_RETURN(counts, table->maintenance().evict({.step = step}));  // between steps
//
// Limits with EVICT_LRU and EVICT_LFU are enforced by commit(). Limits with FAIL and REJECT are
// enforced by find_or_insert(): FAIL makes the step an error; REJECT admits no id in a step that
// begins with a full table.
//
// Const functions may be called from several threads at once while no thread changes the table. The
// other functions need exclusive access: either no other thread uses the table, or the caller has a
// TableWriteAccess. Functions of content() and maintenance() that lock the table say so.
class EmbeddingTable {
 public:
  // Errors: InvalidArgument for an empty name, a dim outside 1 to 4096 or a bad initializer.
  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(EmbeddingTableOptions options);

  const std::string& name() const { return parts_.options.name; }
  int64_t dim() const { return parts_.options.dim; }
  int64_t added_columns() const { return parts_.options.added_columns; }
  const std::vector<SlotSpec>& slots() const { return parts_.store.slots(); }
  // Returns type and sizes of a record: its weights, then its slots.
  const RowLayout& layout() const { return parts_.store.layout(); }
  // Returns the arithmetic for rows on this machine.
  const Kernels& kernels() const { return parts_.kernels; }
  // Returns the number of rows, tentative ones included.
  int64_t rows() const { return parts_.store.size(); }

  // Returns the ranks of the job and the rank of this table, which holds the rows of its own ids.
  const Placement& placement() const { return parts_.options.placement; }
  // Errors: FailedPrecondition if there are rows already.
  absl::Status set_placement(const Placement& placement);

  // Sets the slots of each row: the state that an optimizer needs. Errors: FailedPrecondition if
  // there are rows already and their slots differ.
  absl::Status bind(std::vector<SlotSpec> slots);
  // Returns a table without rows, with the same options and slots. Rows of a file are loaded into
  // it first; TableContent::swap() then gives this table all of them or none.
  std::unique_ptr<EmbeddingTable> make_empty() const;

  TableContent& content() { return content_; }
  const TableContent& content() const { return content_; }
  TableMaintenance& maintenance() { return maintenance_; }
  const TableMaintenance& maintenance() const { return maintenance_; }

  // Sets rows[i] to the row of ids[i], or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
    parts_.map.find(ids, rows);
  }
  // Writes the initial weights of the row of an id.
  void initial_row(int64_t id, absl::Span<float> row) const { parts_.initializer.fill(id, row); }
  // Writes the weights that an id without a row reads.
  void default_row(int64_t id, absl::Span<float> row) const;

  // Finds rows as find(), and gives each unknown id that is admitted a tentative row with initial
  // weights. An id that is not admitted reads default_row(), and the occurrence is counted: each
  // occurrence in the step must be looked up once. Errors: as check_room(); nothing is inserted or
  // counted then.
  absl::Status find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows);
  // Checks that there is room for the rows that these ids need. Errors: ResourceExhausted if there
  // are no row numbers left, or if on_full is FAIL and the limit of the table does not allow as
  // many rows.
  absl::Status check_room(absl::Span<const int64_t> ids) const;
  // Returns true if an id without a row gets one in this step. Does not change within a step.
  bool admits(int64_t id) const;
  // Records that an id without a row that is not admitted occurred `count` times in this step, as
  // find_or_insert() does for one occurrence.
  void record_unadmitted(int64_t id, uint32_t count) { parts_.unadmitted[id] += count; }

  // Checks that rows can hold `step` as their last step: see check_table_step().
  absl::Status check_step(int64_t step) const { return check_table_step(name(), step); }
  // Records that `rows[i]` occurred `counts[i]` times in step `step`. May be called several times
  // per step with disjoint rows. REQUIRES: only record_occurrences() and commit() follow until the
  // step ends; check_step(step) is OK.
  void record_occurrences(int64_t step, absl::Span<const RowIndex> rows,
                          absl::Span<const uint32_t> counts);
  // Ends a step: tentative rows become permanent, and occurrences of ids without rows are counted.
  // Then enforces the limit, which may remove rows. REQUIRES: `step` is above the steps of earlier
  // calls.
  void commit(int64_t step);
  // Removes tentative rows. If no other rows were changed, content and counts of ids without rows
  // are as before the step.
  void discard();
  // Records lookups that change nothing: in training (of a frozen table) or outside. Thread-safe.
  void record_reads(const ReadCounts& counts, bool in_training) const {
    (in_training ? parts_.frozen_reads : parts_.evaluated_reads).add(counts);
  }
  // Returns true inside a step, in which content and rows must not be changed by others: from the
  // first new id to commit() or discard(). On several ranks also while set_rows_held(true) holds.
  bool in_step() const { return parts_.in_step(); }
  // Marks the begin or end of a step over ranks. Such a step refers to rows and their records
  // before it makes tentative rows.
  void set_rows_held(bool held) { parts_.rows_held = held; }
  // Returns the number of steps committed; the t of bias corrections is one more. Part of the
  // table's state.
  int64_t applied_steps() const { return parts_.applied_steps; }

  // Sets the number of rows on all ranks, which limits with FAIL and REJECT count in this step.
  // Without it a table on several ranks has no limit. Limits with EVICT_LRU and EVICT_LFU of such a
  // table are not enforced by commit().
  void set_rows_of_all_ranks(int64_t rows) { parts_.rows_of_all_ranks = rows; }
  // Checks that `rows` rows may be added in this step, counted over all ranks. Errors: as
  // check_room().
  absl::Status check_new_rows(int64_t rows) const { return maintenance_.check_room(rows); }

 private:
  friend class TableReadAccess;
  friend class TableWriteAccess;

  EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                 std::unique_ptr<Admission> admission, std::optional<EvictionRules> eviction);
  // Returns a tentative row of an id without a row; kNoRow if the id is not admitted: counts the
  // occurrence then.
  RowIndex make_row(int64_t id);
  RowIndex add_row(int64_t id);  // a tentative one
  void count_unadmitted();

  TableParts parts_;
  TableMaintenance maintenance_{parts_};
  TableContent content_{parts_, maintenance_};
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
