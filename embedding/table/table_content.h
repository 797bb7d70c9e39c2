// How the content of a table leaves it and comes back.
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
#include "embedding/rows/undo_budget.h"
#include "embedding/table/table_maintenance.h"
#include "embedding/table/table_parts.h"
#include "embedding/table/table_rows.h"
#include "embedding/table/table_snapshot.h"
#include "embedding/table/table_statistics.h"

namespace millrace {

// All that the future of one EmbeddingTable depends on, for checkpoints and those who load rows:
//
//   std::unique_ptr<TableSnapshot> saved = table->content().freeze(budget);   // to a checkpoint
//
//   std::unique_ptr<EmbeddingTable> loaded = table->make_empty();             // and back
//   ASSIGN_OR_RETURN(std::vector<RowIndex> rows, loaded->content().place_rows(ids));
//   ... write the records of `rows` ...
//   table->content().swap(loaded->content());
//
// Called between steps, by one thread; const methods may be called from many threads at once while
// nobody changes the table. EmbeddingTable owns it.
class TableContent {
 public:
  // Borrows both.
  TableContent(TableParts& parts, TableMaintenance& maintenance)
      : parts_(parts), maintenance_(maintenance) {}
  TableContent(const TableContent&) = delete;
  TableContent& operator=(const TableContent&) = delete;

  // Returns the table as it is, without a copy; the table must not change while that is used.
  // REQUIRES: no tentative rows.
  std::unique_ptr<TableSnapshot> view() const;
  // Returns the table as it is now, to be read while it changes. REQUIRES: no tentative rows; an
  // earlier one has been read.
  std::unique_ptr<TableSnapshot> freeze(std::shared_ptr<UndoBudget> budget);

  // Returns the rows in use by ascending placement_hash of their id: the order of checkpoint files.
  std::vector<RowIndex> rows_in_placement_order() const;
  // Returns a copy of all rows in that order. REQUIRES: no tentative rows.
  TableRows export_rows() const;
  // Returns a fingerprint: the sum modulo 2^128 over rows of XXH3-128 of the little-endian bytes of
  // id, weights, slots, frequency and last step. It depends on neither order nor history.
  absl::uint128 digest() const;

  // Adds rows or, where the id is there, replaces them. Of a table on several ranks, rows that
  // belong to other ranks are passed over (EmbeddingTable::placement). A slot that `rows` lacks
  // gets its initial value. Holds the table's mutex alone. Errors: InvalidArgument for sizes that
  // do not fit, an id that comes twice and an unknown slot; ResourceExhausted for more rows than a
  // limit with on_full FAIL allows; FailedPrecondition inside a step. The table is as before then.
  // Other limits act from the next step on. The log of evicted ids begins anew, after the last step
  // of any row: a copy of the table as it was then lacks these rows.
  absl::Status load_rows(const TableRows& rows);
  // Makes room for rows that are loaded in pieces, straight into the store: rows[i] becomes the row
  // of ids[i], made if it is not there, with initial slots or (kUnset) any; all else of the row is
  // to be written. REQUIRES: ids are distinct and of this rank; not inside a step. Errors:
  // ResourceExhausted as load_rows(); nothing changes then.
  enum class NewSlots { kInitial, kUnset };
  absl::StatusOr<std::vector<RowIndex>> place_rows(absl::Span<const int64_t> ids,
                                                   NewSlots slots = NewSlots::kInitial);
  // Removes the rows of these ids; ids without a row are ignored. They do not count as evicted.
  // Rows may get other numbers. Holds the table's mutex alone.
  void drop_rows(absl::Span<const int64_t> ids);
  // Removes all rows, counts and the step count; memory is given back. Slots stay. Holds the
  // table's mutex alone.
  void reset();
  // Exchanges rows, admission counts, evicted ids and counters. Holds the mutex of this table
  // alone. REQUIRES: between steps of both; the table of `other` was made by
  // EmbeddingTable::make_empty() of this one's, and nobody else uses it.
  void swap(TableContent& other);

  // The table's state beside the rows.
  AdmissionState admission_state() const { return parts_.admission->state(); }
  EvictedLogState evicted_log() const { return parts_.evicted.state(); }
  TableCounters counters() const { return {parts_.applied_steps, parts_.step, parts_.counted}; }
  // Errors: InvalidArgument naming the table if it does not fit, OutOfRange for counters of a step
  // that check_table_step() refuses; nothing changes then.
  absl::Status set_admission_state(const AdmissionState& state);
  absl::Status set_evicted_log(const EvictedLogState& state);
  absl::Status set_counters(const TableCounters& counters);

  // Returns the ids evicted, for whatever reason, when `step` steps or more had been applied, and
  // that have no row now; by ascending placement_hash. Errors: OutOfRange if that is too long ago
  // to know.
  absl::StatusOr<std::vector<int64_t>> evicted_since(int64_t step) const;
  // Returns the first step that evicted_since() knows.
  int64_t evicted_log_begins() const { return parts_.evicted.begins(); }
  // Begins the log of evicted ids anew: called with `step` by those who load rows and know that all
  // rows of that step are there.
  void restart_evicted_log(int64_t step) { parts_.evicted.restart(step); }

 private:
  absl::Status check_rows(const TableRows& rows) const;
  TableSnapshot::Parts snapshot_parts(std::shared_ptr<RowSnapshot> rows) const;

  TableParts& parts_;
  TableMaintenance& maintenance_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_CONTENT_H_
