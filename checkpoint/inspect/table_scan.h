// Reads the rows of a table in order from the files of a checkpoint. Does not depend on LibTorch.
#ifndef MILLRACE_CHECKPOINT_INSPECT_TABLE_SCAN_H_
#define MILLRACE_CHECKPOINT_INSPECT_TABLE_SCAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/tensor_type.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// A tensor of a table's files that has data of each row.
struct TableColumn {
  std::string name;  // "weights", "slot/NAME", "frequency", "last_step"
  TensorType type = TensorType::kF32;
  int64_t width = 1;       // numbers of a row
  bool is_matrix = false;  // the tensor is [rows, width]; else [rows]

  int64_t row_bytes() const { return width * tensor_type_bytes(type); }
  std::vector<int64_t> shape(int64_t rows) const {
    return is_matrix ? std::vector<int64_t>{rows, width} : std::vector<int64_t>{rows};
  }
};

// Returns the columns that every file of a table has, without the ids: weights, slots in the
// optimizer's order, frequency, last_step. Empty if the table or its ids do not exist.
std::vector<TableColumn> table_columns(const CheckpointManifest& manifest, absl::string_view table);

// Returns exactly the columns `names`. Errors: NotFound naming the missing table or column, and the
// existing ones.
absl::StatusOr<std::vector<TableColumn>> find_columns(const CheckpointManifest& manifest,
                                                      absl::string_view table,
                                                      const std::vector<std::string>& names);

// Returns the number of rows of a table in the files of this checkpoint: all rows, or for a delta
// the changed rows.
int64_t held_rows(const CheckpointManifest& manifest, absl::string_view table);

// Some rows: their ids, and their bytes in each column.
struct RowBlock {
  std::vector<int64_t> ids;
  std::vector<std::string> columns;

  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
  absl::string_view row(size_t column, int64_t row, int64_t row_bytes) const {
    return absl::string_view(columns[column]).substr(row * row_bytes, row_bytes);
  }
};

// All rows of a table, by ascending placement hash; for a chain of deltas, the rows after all
// deltas have been applied. All returned rows have been checked. Memory: a chunk per column per
// checkpoint. Not thread-safe.
//
//   ASSIGN_OR_RETURN(auto scan, TableScan::open(chain, "items", {"weights"}));
//   for (RowBlock block;;) {
//     RETURN_IF_ERROR(scan->next(&block));
//     if (block.rows() == 0) break;
//     ...
//   }
class TableScan {
 public:
  // Opens a scan. `chain`: the result of open_chain(), or its last deltas; in the second case the
  // scan returns the rows in the deltas. Borrows `chain`.
  // Errors: any error of find_columns(); read errors.
  static absl::StatusOr<std::unique_ptr<TableScan>> open(
      absl::Span<const std::unique_ptr<CheckpointReader>> chain, absl::string_view table,
      const std::vector<std::string>& columns);
  ~TableScan();

  const std::vector<TableColumn>& columns() const { return columns_; }

  // Replaces the content of `block` by the next rows; no rows at the end of the table.
  // Errors: DataLoss for damage, for rows that are not in the order of hashes and for another
  // number of rows than the manifest states; read errors.
  absl::Status next(RowBlock* block);

 private:
  class Layer;  // the rows of one checkpoint
  TableScan();
  absl::Status take_first(RowBlock* block);
  absl::Status check_count() const;

  std::vector<TableColumn> columns_;
  std::vector<std::unique_ptr<Layer>> layers_;  // oldest first
  int64_t rows_ = 0;                            // returned so far
  int64_t due_ = -1;                            // number of all rows; -1: not known
  std::string of_;                              // for messages
};

// Returns the ids whose rows a delta removes, by ascending placement hash. Errors: read errors.
absl::StatusOr<std::vector<int64_t>> read_tombstones(const CheckpointReader& checkpoint,
                                                     absl::string_view table);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TABLE_SCAN_H_
