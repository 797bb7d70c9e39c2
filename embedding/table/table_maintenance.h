// Limits and evictions of a table, and its statistics.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_MAINTENANCE_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_MAINTENANCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "embedding/policies/eviction.h"
#include "embedding/policies/row_selection.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/table/table_parts.h"
#include "embedding/table/table_statistics.h"

namespace millrace {

// The limits, evictions and statistics of one EmbeddingTable, which owns its maintenance. The table
// enforces its limit when a step ends; callers evict between steps:
//
//   ASSIGN_OR_RETURN(EvictionCounts counts, table->maintenance().evict({.step = step}));
//
// Const functions are thread-safe while no thread changes the table.
class TableMaintenance {
 public:
  // Borrows the parts.
  explicit TableMaintenance(TableParts& parts) : parts_(parts) {}
  TableMaintenance(const TableMaintenance&) = delete;
  TableMaintenance& operator=(const TableMaintenance&) = delete;

  // Returns the rules of evict(), which does nothing without rules.
  const std::optional<EvictionRules>& eviction_rules() const { return parts_.eviction; }
  // Removes the rows that the rules evict: weights, slots and counts. An evicted id that returns
  // starts with initial values. Locks the table. Returns the number of rows by reason. Errors:
  // FailedPrecondition inside a step.
  absl::StatusOr<EvictionCounts> evict(const EvictionTime& now);

  // ---- Limits of a table on several ranks, with on_full EVICT_LRU or EVICT_LFU ----

  // Returns the number of rows to evict over all ranks if all ranks together have `rows` rows. 0 if
  // the limit allows these rows, or with another on_full.
  int64_t rows_beyond_limit(int64_t rows) const;
  // Returns a selection of the `count` least valuable rows, before any round. REQUIRES: as
  // RowSelection.
  RowSelection select_least(int64_t count) const;
  // Adds all rows of this rank to the counts of the selection.
  void count_rows(const RowSelection& selection, RowSelection::Counts& counts) const;
  // Removes the selected rows. Locks the table. REQUIRES: selection.done(); not inside a step.
  void evict_selected(const RowSelection& selection);

  // Returns the cost of one row under max_bytes: its record (weights and slots, rounded up to 64
  // bytes) and 64 bytes for its place in the store and the map. The cost is constant, so that
  // limits do not depend on the state of memory.
  int64_t row_bytes() const;
  // Returns the number of rows that max_rows and max_bytes allow.
  int64_t row_limit() const { return parts_.row_limit; }

  TableStatistics statistics() const;  // without a pass over rows
  // Returns the `count` most frequent rows, by descending frequency, then ascending placement_hash;
  // fewer if the table has fewer rows. Reads all rows. REQUIRES: count >= 1.
  std::vector<HotId> hottest(int64_t count) const;

 private:
  // The friends call the functions below when a table changes: in a step, or while content is
  // loaded.
  friend class EmbeddingTable;
  friend class TableContent;

  // Sets the limit of rows from the configuration, for rows with `slots`; empty before the slots
  // are known. Errors: InvalidArgument if max_bytes is below the cost of one row; then the limit is
  // unchanged.
  absl::Status set_row_limit(absl::Span<const SlotSpec> slots);
  // Checks that there is room for `more` additional rows; on several ranks, of all ranks together.
  // Errors: ResourceExhausted if on_full is FAIL and the limit does not allow the rows, and on one
  // rank as check_own_room().
  absl::Status check_room(int64_t more) const;
  // Checks that this rank can number `more` additional rows. Errors: ResourceExhausted naming the
  // table.
  absl::Status check_own_room(int64_t more) const;
  // Removes rows beyond the limit if on_full is EVICT_LRU or EVICT_LFU. REQUIRES: no tentative
  // rows; the caller has exclusive access to the table.
  void enforce_limit();
  // Returns memory after many rows were removed, unless a frozen snapshot is in use. REQUIRES: as
  // enforce_limit().
  void compact();
  EvictionOrder limit_order() const;
  RowKey key_of(RowIndex row) const;
  int64_t row_bytes(absl::Span<const SlotSpec> slots) const;
  // Removes rows and logs their ids as evicted.
  void remove(absl::Span<const RowIndex> rows, int64_t step);

  TableParts& parts_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_MAINTENANCE_H_
