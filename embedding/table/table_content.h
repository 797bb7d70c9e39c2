// Saving and loading of the content of a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_CONTENT_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_CONTENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "embedding/policies/admission.h"
#include "embedding/policies/evicted_log.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_store.h"
#include "embedding/rows/undo_budget.h"
#include "embedding/table/table_maintenance.h"
#include "embedding/table/table_parts.h"
#include "embedding/table/table_rows.h"
#include "embedding/table/table_snapshot.h"
#include "embedding/table/table_statistics.h"

namespace millrace {

// The state of one row, for writing. Valid until rows are removed, evicted, committed or swapped;
// do not keep it.
struct MutableRow {
  char* record;  // see RowStore::record()
  float* slots;
  RowMeta& meta;

  // REQUIRES: the type of the rows is kFloat32.
  float* weights() const { return reinterpret_cast<float*>(record); }
};

// The complete state of one EmbeddingTable, for checkpoints and for loading rows:
//
//   std::unique_ptr<TableSnapshot> saved = table->content().freeze(budget);   // to a checkpoint
//
//   std::unique_ptr<EmbeddingTable> loaded = table->make_empty();             // and back
//   ASSIGN_OR_RETURN(std::vector<RowIndex> rows, loaded->content().place_rows(ids));
//   ... write the records of `rows` ...
//   table->content().swap(loaded->content());
//
// Called between steps, by one thread. Const functions may be called from several threads at once
// while no thread changes the table. EmbeddingTable owns its content.
class TableContent {
 public:
  // Borrows both.
  TableContent(TableParts& parts, TableMaintenance& maintenance)
      : parts_(parts), maintenance_(maintenance) {}
  TableContent(const TableContent&) = delete;
  TableContent& operator=(const TableContent&) = delete;

  // Returns the table as it is, without a copy. The table must not change while the result is used.
  // REQUIRES: not inside a step.
  std::unique_ptr<TableSnapshot> view() const;
  // Returns the current state of the table, readable while the table changes. REQUIRES: not inside
  // a step; reading of an earlier result has finished.
  std::unique_ptr<TableSnapshot> freeze(std::shared_ptr<UndoBudget> budget);
  // Releases a frozen snapshot that has been read. Returns true if none is left.
  bool thaw() { return parts_.store.thaw(); }

  // Returns the rows, for reading while no step changes them.
  const RowStore& rows() const { return parts_.store; }
  // Returns the state of a row for writing. Several threads may write different rows at once.
  // REQUIRES: place_rows() returned the row, or TableWriteAccess::preserve() was called for it.
  MutableRow mutable_row(RowIndex row) {
    return {parts_.store.record(row), parts_.store.slots(row), parts_.store.meta(row)};
  }
  // Sets the weights of a row, rounded to the type of the table. REQUIRES: as mutable_row().
  void write_weights(RowIndex row, absl::Span<const float> weights) {
    parts_.store.write_weights(row, weights);
  }
  // Returns the rows in use by ascending placement_hash of their id: the order of checkpoint files.
  std::vector<RowIndex> rows_in_placement_order() const;
  // Returns a copy of all rows in that order. REQUIRES: no tentative rows.
  TableRows export_rows() const;
  // Returns a fingerprint: the sum modulo 2^128 over rows of XXH3-128 of the little-endian bytes of
  // id, weights, slots, frequency and last step. Independent of the order of rows and of history.
  absl::uint128 digest() const;

  // Adds rows, and replaces the rows of ids with a row. Skips rows of other ranks
  // (EmbeddingTable::placement()). A slot missing in `rows` gets its initial value. Locks the
  // table. Limits other than FAIL apply from the next step on. The log of evicted ids restarts
  // after the table's step, which becomes at least the last step of any loaded row: a copy of the
  // table at that step lacks these rows.
  // Errors: InvalidArgument for wrong sizes, a frequency or last step out of range, a repeated id
  // and an unknown slot; ResourceExhausted for more rows than a limit with on_full FAIL allows;
  // FailedPrecondition inside a step. After an error the table is unchanged.
  absl::Status load_rows(const TableRows& rows);
  // Returns the rows of `ids`, for rows that are loaded in pieces: the caller writes them by
  // mutable_row(). Adds rows that do not exist; new rows have initial slots (kInitial) or
  // undefined slots (kUnset), and undefined weights. REQUIRES: ids are distinct and of this rank;
  // not inside a step. Errors: ResourceExhausted as load_rows(); nothing changes then.
  enum class NewSlots { kInitial, kUnset };
  absl::StatusOr<std::vector<RowIndex>> place_rows(absl::Span<const int64_t> ids,
                                                   NewSlots slots = NewSlots::kInitial);
  // Removes the rows of these ids, and ignores ids without a row. The rows do not count as evicted.
  // Rows may get other numbers. Locks the table. REQUIRES: not inside a step.
  void drop_rows(absl::Span<const int64_t> ids);
  // Removes all rows, counts and the step count, and releases memory. Keeps slots. Locks the table.
  void reset();
  // Exchanges rows, admission counts, evicted ids and counters. Locks this table. REQUIRES: neither
  // table is inside a step; `other` belongs to a table from EmbeddingTable::make_empty() of this
  // table, which no other thread uses.
  void swap(TableContent& other);

  // Return the state of the table except its rows.
  AdmissionState admission_state() const { return parts_.admission->state(); }
  EvictedLogState evicted_log() const { return parts_.evicted.state(); }
  TableCounters counters() const { return {parts_.applied_steps, parts_.step, parts_.counted}; }
  // Set this state. Errors: InvalidArgument naming the table if the state does not fit, OutOfRange
  // for counters of a step that check_table_step() refuses; then nothing has changed.
  absl::Status set_admission_state(const AdmissionState& state);
  absl::Status set_evicted_log(const EvictedLogState& state);
  absl::Status set_counters(const TableCounters& counters);

  // Returns the ids without a row that were evicted, for any reason, after `step` or more applied
  // steps; by ascending placement_hash. Errors: OutOfRange if the log begins after `step`.
  absl::StatusOr<std::vector<int64_t>> evicted_since(int64_t step) const;
  // Returns the first step that evicted_since() accepts.
  int64_t evicted_log_begins() const { return parts_.evicted.begins(); }
  // Restarts the log of evicted ids at `step`. Called after rows were loaded, if all rows of that
  // step are present.
  void restart_evicted_log(int64_t step) { parts_.evicted.restart(step); }

 private:
  absl::Status check_rows(const TableRows& rows) const;
  TableSnapshot::Parts snapshot_parts(std::shared_ptr<RowSnapshot> rows) const;

  TableParts& parts_;
  TableMaintenance& maintenance_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_CONTENT_H_
