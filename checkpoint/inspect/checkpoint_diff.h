// The differences of two checkpoints. Does not depend on LibTorch.
#ifndef MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_
#define MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/inspect/checkpoint_content.h"

namespace millrace {

// Differences of numbers at the same places.
struct ValueDifference {
  int64_t changed = 0;  // numbers whose bytes differ
  // The largest difference that is not NaN; may be infinite.
  double max_abs = 0;
  int64_t not_a_number = 0;  // number of changed values where a or b is NaN
};

struct TensorDifference {
  std::string name;
  // Type and shape, "F32 [3, 2]"; "" if the tensor does not exist.
  std::string a = {}, b = {};
  ValueDifference values = {};  // if type and shape are equal
};

struct ColumnDifference {
  std::string name;  // "weights", "slot/NAME", "frequency", "last_step"
  // "F32 × 16"; "" if the column does not exist. If `a` and `b` differ, values are not compared.
  std::string a = {}, b = {};
  int64_t changed_rows = 0;
  ValueDifference values = {};
};

struct TableDifference {
  std::string name;
  // True if the checkpoint has rows of the table.
  bool in_a = true, in_b = true;
  int64_t rows_a = 0, rows_b = 0;
  int64_t added = 0, removed = 0;              // ids that only b, or only a, has
  int64_t changed = 0, unchanged = 0;          // ids of both, by the columns that can be compared
  std::vector<ColumnDifference> columns = {};  // the different ones

  bool equal() const {
    return in_a == in_b && added == 0 && removed == 0 && changed == 0 && columns.empty();
  }
};

struct CheckpointDiff {
  // One line per field that differs, as "step: 1 → 2".
  std::vector<std::string> progress;  // without time
  std::vector<std::string> job;       // in the form of config_differences()
  std::vector<std::string> parts;
  std::vector<TensorDifference> dense;  // the different ones
  int64_t equal_dense = 0;              // number of equal tensors
  std::vector<TableDifference> tables;  // all

  bool equal() const;
};

// Compares progress, configuration, parts, dense tensors and rows of tables. Ignores the state of
// hooks, of the data's cursor and of admission, and the distribution of content over files. Does
// not read rows whose digests are equal in both manifests. Memory: two dense tensors, and two
// TableScans.
// Errors: read errors.
absl::StatusOr<CheckpointDiff> compare_checkpoints(const CheckpointContent& a,
                                                   const CheckpointContent& b);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_INSPECT_CHECKPOINT_DIFF_H_
