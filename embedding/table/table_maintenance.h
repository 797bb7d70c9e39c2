// Rules that bound a table, and its statistics.
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

// The administration of one EmbeddingTable: its limit, evictions, statistics. EmbeddingTable owns
// its maintenance and enforces the limit when a step ends; others evict between steps:
//
//   ASSIGN_OR_RETURN(EvictionCounts counts, table->maintenance().evict({.step = step}));
//
// Const methods may be called from many threads at once while nobody changes the table.
class TableMaintenance {
 public:
  // Borrows the parts.
  explicit TableMaintenance(TableParts& parts) : parts_(parts) {}
  TableMaintenance(const TableMaintenance&) = delete;
  TableMaintenance& operator=(const TableMaintenance&) = delete;

  // Returns the rules of evict(). Without rules evict() does nothing.
  const std::optional<EvictionRules>& eviction_rules() const { return parts_.eviction; }
  // Removes the rows that the rules are against: weights, slots, counts. An id that comes back
  // begins anew. Holds the table's mutex alone. Errors: FailedPrecondition inside a step.
  absl::StatusOr<EvictionCounts> evict(const EvictionTime& now);

  // ---- Limits of a table on several ranks, with on_full EVICT_LRU or EVICT_LFU ----

  // Returns the number of rows that must go, over all ranks, if these have `rows` together; 0 where
  // the limit allows them or on_full is another.
  int64_t rows_beyond_limit(int64_t rows) const;
  // Returns an empty selection of `count` rows. REQUIRES: as RowSelection.
  RowSelection select_least(int64_t count) const;
  // Adds all rows of this rank to the counts of the selection.
  void count_rows(const RowSelection& selection, RowSelection::Counts& counts) const;
  // Removes the rows that are selected. Holds the table's mutex alone. REQUIRES: not inside a step.
  void evict_selected(const RowSelection& selection);

  // Returns the cost of one row under max_bytes: its record (weights and slots, rounded up to 64
  // bytes) and 64 bytes for its place in the store and the map. A fixed price, so that limits act
  // alike whatever the memory looks like.
  int64_t row_bytes() const;
  // Returns the number of rows that max_rows and max_bytes allow.
  int64_t row_limit() const { return parts_.row_limit; }

  TableStatistics statistics() const;  // no pass over rows
  // Returns the rows seen most often, by descending frequency, then ascending placement_hash; at
  // most `count`. One pass over all rows. REQUIRES: count >= 1.
  std::vector<HotId> hottest(int64_t count) const;

 private:
  // Call the functions below where a table changes: in a step, or while content is loaded.
  friend class EmbeddingTable;
  friend class TableContent;

  // Derives the limit of rows from the configuration for rows with `slots`; before the slots are
  // known, with none. Errors: InvalidArgument if max_bytes is below the price of one row; the limit
  // is as before then.
  absl::Status set_row_limit(absl::Span<const SlotSpec> slots);
  // Checks that there is room for `more` further rows. Errors: ResourceExhausted if no row numbers
  // are left, or if on_full is FAIL and the limit does not allow as many rows.
  absl::Status check_room(int64_t more) const;
  // Removes rows beyond the limit where on_full is EVICT_LRU or EVICT_LFU. REQUIRES: no tentative
  // rows; the caller holds the table's mutex alone.
  void enforce_limit();
  // Gives memory back after many rows were removed, unless a frozen snapshot is read. REQUIRES: as
  // enforce_limit().
  void compact();
  EvictionOrder limit_order() const;
  RowKey key_of(RowIndex row) const;
  int64_t row_bytes(absl::Span<const SlotSpec> slots) const;
  // Removes rows and records their ids as evicted.
  void remove(absl::Span<const RowIndex> rows, int64_t step);

  TableParts& parts_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_MAINTENANCE_H_
