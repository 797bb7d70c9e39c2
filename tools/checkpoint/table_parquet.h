// Rows of a checkpoint's table as Parquet.
#ifndef MILLRACE_TOOLS_CHECKPOINT_TABLE_PARQUET_H_
#define MILLRACE_TOOLS_CHECKPOINT_TABLE_PARQUET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "checkpoint/inspect/table_scan.h"

namespace millrace {

struct TableParquetOptions {
  // If set, adds a column "removed" (bool), and after the rows one row per id of this list, with
  // "removed" true and all other columns but the id null.
  std::optional<std::vector<int64_t>> removed = std::nullopt;
  std::map<std::string, std::string> metadata = {};  // of the schema
};

// Writes "id" (int64) and the columns of the scan under their names: columns of one number as
// int64, others as a fixed-size list of float32, for any type in the checkpoint. Row groups have at
// most 65,536 rows, which are in memory. Neither syncs nor closes the file. REQUIRES: columns of
// numbers are I64, others F32, F16 or BF16.
// Errors: errors of TableScan::next and of the file.
absl::Status write_table_parquet(WritableFile& file, TableScan& scan,
                                 const TableParquetOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_TABLE_PARQUET_H_
