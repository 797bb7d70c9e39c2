// The rows of a table, read from the files of a checkpoint, one after the other. Knows no LibTorch.
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

// A tensor of a table's files that has something of each row.
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

// Those that every file of a table has, ids apart: weights, slots in the optimizer's order,
// frequency, last_step. Empty if there is no such table or none of its rows.
std::vector<TableColumn> table_columns(const CheckpointManifest& manifest, absl::string_view table);

// The same, but exactly these. Errors: NotFound naming the table or the column that is not there,
// and those that are.
absl::StatusOr<std::vector<TableColumn>> find_columns(const CheckpointManifest& manifest,
                                                      absl::string_view table,
                                                      const std::vector<std::string>& names);

// How many rows of a table the files of this checkpoint have: all, or of a delta those it changes.
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

// All rows of a table, by ascending placement hash. Of a chain of deltas: those that there are when
// all have been applied. What is handed out has been checked. Memory: a chunk for each column of
// each checkpoint. Not thread-safe.
//
//   ASSIGN_OR_RETURN(auto scan, TableScan::open(chain, "items", {"weights"}));
//   for (RowBlock block;;) {
//     RETURN_IF_ERROR(scan->next(&block));
//     if (block.rows() == 0) break;
//     ...
//   }
class TableScan {
 public:
  // `chain`: as open_chain gives it, or an end of it: then the rows that these deltas hold.
  // Borrows it. Errors: those of find_columns; those of reading.
  static absl::StatusOr<std::unique_ptr<TableScan>> open(
      absl::Span<const std::unique_ptr<CheckpointReader>> chain, absl::string_view table,
      const std::vector<std::string>& columns);
  ~TableScan();

  const std::vector<TableColumn>& columns() const { return columns_; }

  // Replaces what `block` holds by the next rows; none: that was all.
  // Errors: DataLoss for damage, for rows that are not in the order of hashes and for another
  // number of them than the manifest says; those of reading.
  absl::Status next(RowBlock* block);

 private:
  class Layer;  // the rows of one checkpoint
  TableScan();
  absl::Status take_first(RowBlock* block);
  absl::Status check_count() const;

  std::vector<TableColumn> columns_;
  std::vector<std::unique_ptr<Layer>> layers_;  // oldest first
  int64_t rows_ = 0;                            // handed out
  int64_t due_ = -1;                            // how many there are; -1: not known
  std::string of_;                              // for messages
};

// The ids whose rows went with one delta, by ascending placement hash. Errors: those of reading.
absl::StatusOr<std::vector<int64_t>> read_tombstones(const CheckpointReader& checkpoint,
                                                     absl::string_view table);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_TABLE_SCAN_H_
