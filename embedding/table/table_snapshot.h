// The state of a table at one moment.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_SNAPSHOT_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "embedding/policies/admission.h"
#include "embedding/policies/evicted_log.h"
#include "embedding/rows/placement.h"
#include "embedding/rows/row_optimizer.h"
#include "embedding/rows/row_snapshot.h"

namespace millrace {

// The result of TableContent::view() and freeze(): the rows, and copies of the other state that
// later steps depend on. The table must not change during the life of a view. A frozen snapshot may
// be read by any threads while the table changes, and may outlive the table:
//
//   const std::unique_ptr<TableSnapshot> snapshot = table->content().freeze(budget);   // between
//   steps
//   ... in another thread, while steps are done ...
//   for (RowIndex row : snapshot->rows().in_placement_order(threads)) ... rows().copy(row, ...)
//   snapshot->finish();   // or its destruction: training no longer preserves rows for it
class TableSnapshot {
 public:
  struct Parts {
    std::string name;
    std::vector<SlotSpec> slots;
    int64_t applied_steps = 0;
    Placement placement = {};
    std::shared_ptr<RowSnapshot> rows;  // a frozen one is shared with the store
    std::unique_ptr<Admission> admission;
    EvictedLog evicted{0};
  };
  explicit TableSnapshot(Parts parts) : parts_(std::move(parts)) {}
  ~TableSnapshot() { finish(); }
  TableSnapshot(const TableSnapshot&) = delete;
  TableSnapshot& operator=(const TableSnapshot&) = delete;

  const std::string& name() const { return parts_.name; }
  const std::vector<SlotSpec>& slots() const { return parts_.slots; }
  int64_t applied_steps() const { return parts_.applied_steps; }
  // Returns the placement, as EmbeddingTable::placement().
  const Placement& placement() const { return parts_.placement; }
  const RowSnapshot& rows() const { return *parts_.rows; }
  AdmissionState admission_state() const { return parts_.admission->state(); }
  EvictedLogState evicted_log() const { return parts_.evicted.state(); }
  int64_t evicted_log_begins() const { return parts_.evicted.begins(); }
  // Returns evicted ids, as TableContent::evicted_since(). `order`: rows().in_placement_order().
  absl::StatusOr<std::vector<int64_t>> evicted_since(int64_t step,
                                                     absl::Span<const RowIndex> order) const;

  // Removes the rows for which `keep` returns false; omitted_rows() counts them. See
  // RowSnapshot::select().
  void select(absl::FunctionRef<bool(int64_t id, const RowMeta& meta)> keep, ThreadPool& threads) {
    const int64_t all = parts_.rows->size();
    parts_.rows->select(keep, threads);
    omitted_rows_ += all - parts_.rows->size();
  }
  int64_t omitted_rows() const { return omitted_rows_; }

  // Ends reading: see RowSnapshot::finish().
  void finish() { parts_.rows->finish(); }

 private:
  Parts parts_;
  int64_t omitted_rows_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_SNAPSHOT_H_
