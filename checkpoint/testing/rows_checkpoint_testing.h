// Checkpoints whose tables have rows that a test specifies, and deltas on them.
#ifndef MILLRACE_CHECKPOINT_TESTING_ROWS_CHECKPOINT_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_ROWS_CHECKPOINT_TESTING_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// A row of a table with a slot "sum" of one number.
struct TestRow {
  std::vector<float> weights;  // as many as the table's dimension
  float sum = 0;
  int64_t frequency = 1;
  int64_t last_step = 0;

  friend bool operator==(const TestRow&, const TestRow&) = default;
};

// One table in float32 and dense tensors [2] in float32.
struct RowsCheckpoint {
  int64_t step = 1;
  std::string table = "items";
  int64_t dim = 2;
  std::map<int64_t, TestRow> rows = {};  // all rows, also of a delta
  std::map<std::string, std::vector<float>> dense = {{"fc.bias", {1, 2}}};
  std::string fingerprint = {}, config = {};
  int table_files = 2;
  bool row_state = true;  // if false, only DENSE and ROWS
  bool finished = false;
};

// Writes a checkpoint to FOLDER/step-NNNNNNNN. With `base`, the content of an existing checkpoint,
// writes a delta on it: changed rows, and tombstones of removed rows.
absl::Status write_rows_checkpoint(FileSystem& files, const std::string& folder,
                                   const RowsCheckpoint& content,
                                   const RowsCheckpoint* base = nullptr);

// Returns rows 1 to `count`, whose numbers are functions of id and seed.
std::map<int64_t, TestRow> test_rows(int64_t count, int64_t dim, int64_t seed);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_ROWS_CHECKPOINT_TESTING_H_
