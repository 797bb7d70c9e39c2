// In what two checkpoints differ. Knows no LibTorch.
#ifndef MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_
#define MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/inspect/checkpoint_content.h"

namespace millrace {

// Differences of numbers that are at the same places.
struct ValueDifference {
  int64_t changed = 0;  // numbers whose bytes differ
  // The largest difference among those of which it is a number; infinite ones count.
  double max_abs = 0;
  int64_t not_a_number = 0;  // of the changed, those that are not a number in one or both
};

struct TensorDifference {
  std::string name;
  // Type and shape, "F32 [3, 2]"; "" where it is missing.
  std::string a = {}, b = {};
  ValueDifference values = {};  // where type and shape are equal
};

struct ColumnDifference {
  std::string name;  // "weights", "slot/NAME", "frequency", "last_step"
  // "F32 × 16"; "" where it is missing. If they differ values are not compared.
  std::string a = {}, b = {};
  int64_t changed_rows = 0;
  ValueDifference values = {};
};

struct TableDifference {
  std::string name;
  // Whether there are rows of the table in it.
  bool in_a = true, in_b = true;
  int64_t rows_a = 0, rows_b = 0;
  int64_t added = 0, removed = 0;              // ids that only b, that only a has
  int64_t changed = 0, unchanged = 0;          // ids of both, by the columns that can be compared
  std::vector<ColumnDifference> columns = {};  // those that differ

  bool equal() const {
    return in_a == in_b && added == 0 && removed == 0 && changed == 0 && columns.empty();
  }
};

struct CheckpointDiff {
  // One line for each field that differs, as "step: 1 → 2".
  std::vector<std::string> progress;  // without time
  std::vector<std::string> job;       // as config_differences() says it
  std::vector<std::string> parts;
  std::vector<TensorDifference> dense;  // those that differ
  int64_t equal_dense = 0;              // those that do not
  std::vector<TableDifference> tables;  // all

  bool equal() const;
};

// Compares progress, configuration, parts, dense tensors and rows of tables. State of hooks, of the
// data's cursor and of admission is not looked at, nor is how the content is spread over files.
// Rows whose digests are equal in both manifests are not read. Memory: two dense tensors, and that
// of two TableScans.
// Errors: those of reading.
absl::StatusOr<CheckpointDiff> compare_checkpoints(const CheckpointContent& a,
                                                   const CheckpointContent& b);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_
