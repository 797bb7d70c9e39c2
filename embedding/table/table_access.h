// Locked access of a step to the ids and rows of a table.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_ACCESS_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_ACCESS_H_

#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"
#include "embedding/id_map/id_map.h"
#include "embedding/rows/row_index.h"
#include "embedding/rows/row_store.h"
#include "embedding/table/embedding_table.h"
#include "embedding/table/prefetch.h"

namespace millrace {

// Shared access of a thread to a table; writers wait during its lifetime. A thread must not have
// two accesses to a table at the same time.
class TableReadAccess {
 public:
  // Borrows the table. Blocks while another thread has a TableWriteAccess or waits for one.
  explicit TableReadAccess(const EmbeddingTable& table) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : parts_(table.parts_),
        store_(parts_.store) {
    parts_.mutex.lock_shared();
  }
  ~TableReadAccess() ABSL_NO_THREAD_SAFETY_ANALYSIS { parts_.mutex.unlock_shared(); }
  TableReadAccess(const TableReadAccess&) = delete;
  TableReadAccess& operator=(const TableReadAccess&) = delete;

  // Sets rows[i] to the row of ids[i], or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
    parts_.map.find(ids, rows);
  }
  // Returns the weights and slots of a row, as RowStore::record().
  const char* record(RowIndex row) const { return store_.record(row); }

 private:
  const TableParts& parts_;
  const RowStore& store_;
};

// Exclusive access of a thread to a table during its lifetime. The thread may also call functions
// of EmbeddingTable that change the table, such as commit().
class TableWriteAccess {
 public:
  // Borrows the table. Blocks while another thread has an access to the table.
  explicit TableWriteAccess(EmbeddingTable& table) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : table_(table),
        parts_(table.parts_),
        store_(parts_.store) {
    parts_.mutex.lock();
  }
  ~TableWriteAccess() ABSL_NO_THREAD_SAFETY_ANALYSIS { parts_.mutex.unlock(); }
  TableWriteAccess(const TableWriteAccess&) = delete;
  TableWriteAccess& operator=(const TableWriteAccess&) = delete;

  EmbeddingTable& table() const { return table_; }

  // Finds rows or inserts tentative ones, as EmbeddingTable::find_or_insert(), without a check of
  // the limit. REQUIRES: EmbeddingTable::check_room() or check_new_rows() succeeded.
  void find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) {
    parts_.map.find_or_insert(ids, rows, [this](int64_t id) { return table_.make_row(id); });
  }
  // Finds or inserts rows as find_or_insert(), and numbers the distinct rows of the step: see
  // IdMap::find_or_insert_distinct().
  void find_or_insert_distinct(absl::Span<const int64_t> ids, std::vector<RowIndex>& distinct,
                               absl::Span<uint32_t> places, IdMap::EachBlock each_block) {
    parts_.map.find_or_insert_distinct(
        ids, [this](int64_t id) { return table_.make_row(id); }, distinct, places, each_block);
  }

  // Returns the weights and slots of a row, which may be changed after preserve().
  char* record(RowIndex row) const { return store_.record(row); }
  int64_t id(RowIndex row) const { return store_.id(row); }
  // Preserves rows. Must be called before their records are changed: see RowStore::preserve().
  void preserve(absl::Span<const RowIndex> rows) const { store_.preserve(rows); }
  // Prefetches the memory that an update of a row uses. `record`: record(row).
  ABSL_ATTRIBUTE_ALWAYS_INLINE void prefetch_update(RowIndex row, const char* record) const {
    prefetch(record, store_.content_bytes());
    prefetch(&store_.meta(row), sizeof(RowMeta));
    store_.prefetch_preserve(row);
  }
  // Returns the key of the stochastic rounding of 16-bit rows.
  uint64_t rounding_key() const { return parts_.rounding_key; }

 private:
  EmbeddingTable& table_;
  TableParts& parts_;
  RowStore& store_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_ACCESS_H_
