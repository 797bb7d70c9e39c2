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
  // With it there is a column "removed" (bool), and after the rows one for each of these ids, in
  // which it is true and all columns but the id are null.
  std::optional<std::vector<int64_t>> removed = std::nullopt;
  std::map<std::string, std::string> metadata = {};  // of the schema
};

// Writes "id" (int64) and the columns of the scan under their names: of one number int64, else a
// list of fixed size of float32, whatever their type in the checkpoint. Row groups have at most
// 65,536 rows, which is what is in memory. Neither syncs nor closes the file.
// REQUIRES: columns of numbers are I64, others F32, F16 or BF16.
// Errors: those of TableScan::next and of the file.
absl::Status write_table_parquet(WritableFile& file, TableScan& scan,
                                 const TableParquetOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_TABLE_PARQUET_H_
