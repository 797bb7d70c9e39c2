// An embedding table, which inserts a row at the first admitted occurrence of an id.
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

// An id map, a row store, an initializer, and the policies for rows. Independent of LibTorch. This
// class has the operations of a step; content() saves and loads rows; maintenance() evicts and
// counts. Steps read and change rows through TableReadAccess and TableWriteAccess (table_access.h),
// which hold the table's lock. The life of a row:
//
//   RETURN_IF_ERROR(table->bind(optimizer.slots(dim)));      // once, before the first row
//   RETURN_IF_ERROR(table->find_or_insert(ids, rows));       // admitted ids get tentative rows
//   ... change weights and slots ...
//   table->record_occurrences(step, rows, counts);
//   table->commit(step);                                     // the rows are permanent
//   // or table->discard(): as if the step had not begun
//   ASSIGN_OR_RETURN(counts, table->maintenance().evict({.step = step}));  // between steps
//
// commit() enforces limits with EVICT_LRU and EVICT_LFU. Limits with FAIL and REJECT apply before
// rows are inserted: with FAIL, check_room() and find_or_insert() return an error; with REJECT, a
// step that begins with a full table admits no id.
//
// Const functions may be called from several threads at the same time while no thread changes the
// table. The other functions need exclusive access: either no other thread uses the table, or the
// caller has a TableWriteAccess. Functions of content() and maintenance() that lock the table say
// so.
class EmbeddingTable {
 public:
  // Creates an empty table. Errors: InvalidArgument for an empty name, a dim outside 1 to 4096,
  // added_columns outside 0 to dim - 1, or an invalid initializer, default value, admission,
  // eviction or limit.
  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(EmbeddingTableOptions options);

  const std::string& name() const { return parts_.options.name; }
  int64_t dim() const { return parts_.options.dim; }
  int64_t added_columns() const { return parts_.options.added_columns; }
  const std::vector<SlotSpec>& slots() const { return parts_.store.slots(); }
  // Returns the type and the sizes of a record: its weights, then its slots.
  const RowLayout& layout() const { return parts_.store.layout(); }
  // Returns the kernels for the instruction set of the options.
  const Kernels& kernels() const { return parts_.kernels; }
  // Returns the number of rows, including tentative ones.
  int64_t rows() const { return parts_.store.size(); }

  // Returns the placement of rows: this table has the rows of its rank's ids.
  const Placement& placement() const { return parts_.options.placement; }
  // Sets the placement. Errors: FailedPrecondition if the table has rows and another placement.
  absl::Status set_placement(const Placement& placement);

  // Sets the slots of each row: the state of an optimizer. Errors: FailedPrecondition if the table
  // has rows with other slots; InvalidArgument if max_bytes is below the cost of one row.
  absl::Status bind(std::vector<SlotSpec> slots);
  // Returns a table without rows, with the same options and slots. Rows of a file are loaded into
  // the new table first; then TableContent::swap() moves all rows or none to this table.
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

  // Finds rows as find(), and inserts a tentative row with initial weights for each unknown id that
  // is admitted. An id that is not admitted gets kNoRow and reads default_row(); its occurrence is
  // counted, so each occurrence in the step must be looked up once. Errors: as check_room(); then
  // nothing is inserted or counted.
  absl::Status find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows);
  // Checks that there is room for the new rows of these ids. Errors: ResourceExhausted if row
  // numbers are exhausted, or if on_full is FAIL and the limit of the table does not allow the new
  // rows.
  absl::Status check_room(absl::Span<const int64_t> ids) const;
  // Returns true if an id without a row gets one in this step. Constant within a step.
  bool admits(int64_t id) const;
  // Records that an id without a row occurred `count` times in this step and is not admitted, as
  // find_or_insert() does for one occurrence.
  void record_unadmitted(int64_t id, uint32_t count) { parts_.unadmitted[id] += count; }

  // Checks that rows can store `step` as their last step: see check_table_step().
  absl::Status check_step(int64_t step) const { return check_table_step(name(), step); }
  // Records that `rows[i]` occurred `counts[i]` times in step `step`. May be called several times
  // per step with disjoint rows. REQUIRES: only record_occurrences() and commit() follow until the
  // step ends; check_step(step) is OK.
  void record_occurrences(int64_t step, absl::Span<const RowIndex> rows,
                          absl::Span<const uint32_t> counts);
  // Ends a step: makes tentative rows permanent, and counts the occurrences of ids without rows.
  // Then enforces the limit, which may remove rows. REQUIRES: `step` is above the steps of earlier
  // calls.
  void commit(int64_t step);
  // Ends a step without effect: removes tentative rows. If no other rows were changed, rows and
  // counts of ids are as before the step.
  void discard();
  // Records lookups without changes: in training (of a frozen table) or outside. Thread-safe.
  void record_reads(const ReadCounts& counts, bool in_training) const {
    (in_training ? parts_.frozen_reads : parts_.evaluated_reads).add(counts);
  }
  // Returns true inside a step, during which nothing else may change content and rows: from the
  // first new id to commit() or discard(). On several ranks also between set_rows_held(true) and
  // set_rows_held(false).
  bool in_step() const { return parts_.in_step(); }
  // Marks the begin or end of a sharded step, which refers to rows and their records before it
  // inserts tentative rows.
  void set_rows_held(bool held) { parts_.rows_held = held; }
  // Returns the number of committed steps; t of bias corrections is one more. Part of the table's
  // state.
  int64_t applied_steps() const { return parts_.applied_steps; }

  // Sets the number of rows over all ranks, for limits with FAIL and REJECT in this step. Without
  // this number, a table on several ranks has no limit. commit() does not enforce limits with
  // EVICT_LRU and EVICT_LFU of such a table.
  void set_rows_of_all_ranks(int64_t rows) { parts_.rows_of_all_ranks = rows; }
  // Checks that this step may add `rows` rows, counted over all ranks. Errors: as check_room().
  absl::Status check_new_rows(int64_t rows) const { return maintenance_.check_room(rows); }
  // Checks that this rank can hold `rows` more rows. Errors: ResourceExhausted naming the table.
  absl::Status check_own_new_rows(int64_t rows) const { return maintenance_.check_own_room(rows); }
  // Sets the maximum number of rows of this rank. Default: RowStore::kMaxRows, which tests lower.
  void set_max_own_rows(int64_t rows) { parts_.options.max_own_rows = rows; }

 private:
  friend class TableReadAccess;
  friend class TableWriteAccess;

  EmbeddingTable(EmbeddingTableOptions options, Initializer initializer,
                 std::unique_ptr<Admission> admission, std::optional<EvictionRules> eviction);
  // Inserts a tentative row for an id without a row. If the id is not admitted, counts the
  // occurrence and returns kNoRow.
  RowIndex make_row(int64_t id);
  RowIndex add_row(int64_t id);  // tentative
  void count_unadmitted();

  TableParts parts_;
  TableMaintenance maintenance_{parts_};
  TableContent content_{parts_, maintenance_};
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
