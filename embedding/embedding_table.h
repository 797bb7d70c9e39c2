// One table of rows that appear when their id does.
#ifndef MILLRACE_EMBEDDING_EMBEDDING_TABLE_H_
#define MILLRACE_EMBEDDING_EMBEDDING_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "embedding/id_map.h"
#include "embedding/initializer.h"
#include "embedding/row_optimizer.h"
#include "embedding/row_store.h"
#include "embedding/table_rows.h"
#include "proto/config.pb.h"

namespace millrace {

struct EmbeddingTableOptions {
  std::string name;
  int64_t dim = 16;  // columns; 1 to 4096
  InitializerConfig initializer;
  uint64_t seed = 1;
};

// Figures for reports. Tentative rows do not count.
struct TableStatistics {
  int64_t rows = 0;
  int64_t inserted = 0;  // rows that appeared in training since the table was made
  int64_t bytes = 0;     // memory of rows and map
};

// An id map, a row store and an initializer. Knows no LibTorch. The life of a row:
//
//   RETURN_IF_ERROR(table->bind(optimizer.slots(dim)));      // once, before the first row
//   RETURN_IF_ERROR(table->find_or_insert(ids, rows));       // unknown ids get tentative rows
//   ... change store().weights(row) and slots(row) ...
//   table->commit(step, rows, counts);                       // now they are there
//   // or table->discard(): as if nothing had been
//
// Const methods may be called from many threads at once while nobody changes the table; the others
// need it for themselves.
class EmbeddingTable {
 public:
  // Errors: InvalidArgument for an empty name, a dim outside 1 to 4096 or a bad initializer.
  static absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(EmbeddingTableOptions options);

  const std::string& name() const { return options_.name; }
  int64_t dim() const { return options_.dim; }
  const std::vector<SlotSpec>& slots() const { return store_.slots(); }

  // Gives rows the state an optimizer needs. Errors: FailedPrecondition if there are rows already
  // and their slots differ.
  absl::Status bind(std::vector<SlotSpec> slots);

  // rows[i] becomes the row of ids[i], or kNoRow.
  void find(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows) const {
    map_.find(ids, rows);
  }
  // What a row of this id holds when it appears.
  void initial_row(int64_t id, absl::Span<float> row) const { initializer_.fill(id, row); }

  // The same, but unknown ids get a tentative row with its initial value.
  // Errors: ResourceExhausted if there are no row numbers left; nothing is inserted then.
  absl::Status find_or_insert(absl::Span<const int64_t> ids, absl::Span<RowIndex> rows);
  // Ends a step: tentative rows are there for good. rows[i] was seen counts[i] more times and
  // last in `step`. REQUIRES: rows are distinct.
  void commit(int64_t step, absl::Span<const RowIndex> rows, absl::Span<const uint32_t> counts);
  // Removes tentative rows. The content is as it was before the step, if nothing was written to
  // other rows.
  void discard();
  bool has_tentative_rows() const { return !tentative_.empty(); }

  // Steps committed, the t of bias corrections is one more. Part of the table's state.
  int64_t applied_steps() const { return applied_steps_; }
  void set_applied_steps(int64_t steps) { applied_steps_ = steps; }

  RowStore& store() { return store_; }
  const RowStore& store() const { return store_; }
  TableStatistics statistics() const;

  // Rows in use by ascending placement_hash of their id: the order of checkpoint files.
  std::vector<RowIndex> rows_in_placement_order() const;
  // A copy of all rows in that order. REQUIRES: no tentative rows.
  TableRows export_rows() const;
  // Adds rows or, where the id is there, replaces them. A slot that `rows` lacks gets its initial
  // value. Errors: InvalidArgument for sizes that do not fit, an id that comes twice and an
  // unknown slot; FailedPrecondition inside a step. The table is as before then.
  absl::Status load_rows(const TableRows& rows);
  // Removes all rows and the step count; memory is given back. Slots stay.
  void reset();

  // A fingerprint of the content: the sum modulo 2^128 over rows of XXH3-128 of the little-endian
  // bytes of id, weights, slots, frequency and last step. It depends on neither order nor history.
  absl::uint128 content_digest() const;

 private:
  EmbeddingTable(EmbeddingTableOptions options, Initializer initializer)
      : options_(std::move(options)), initializer_(initializer), store_(options_.dim) {}
  absl::Status check_rows(const TableRows& rows) const;

  EmbeddingTableOptions options_;
  Initializer initializer_;
  IdMap map_;
  RowStore store_;
  std::vector<RowIndex> tentative_;  // in the order they appeared
  int64_t inserted_ = 0;
  int64_t applied_steps_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_EMBEDDING_TABLE_H_
