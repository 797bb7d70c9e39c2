// Reads rows of a table from files that other programs wrote.
#ifndef MILLRACE_CHECKPOINT_BANK_ROWS_FILE_H_
#define MILLRACE_CHECKPOINT_BANK_ROWS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "embedding/table/table_rows.h"
#include "proto/config.pb.h"

namespace millrace {

// The table that receives the rows.
struct RowsFileTable {
  int64_t dim = 0;
  // Number of columns, the last ones of `dim`, that the model adds. A file has all columns, or all
  // columns except these.
  int64_t added_columns = 0;
  // All features of the job. The features of this table map text to ids (io/feature/text_ids.h).
  std::vector<FeatureConfig> features = {};
};

// Reads all rows of a file: ids and weights. Memory: twice the file.
//
//   safetensors       ids: I64 [rows], weights: F32 [rows, dim]
//   Parquet, ORC      a column of integers or text; a column of lists of `dim` numbers, or `dim`
//                     columns
//   text              "id number number …" on each line; blank lines are skipped
//
// Ids of a text file are integers if all ids are; otherwise all ids are texts, also digits. Rows
// whose text is not in the vocabulary are omitted, and their number is logged. TableRows.dim is the
// number of columns of the file.
// Errors: DataLoss naming the file and the line, from 1, or the row, from 0, for another dimension
// than the table's, a duplicate id (with its first place), a value that is not a finite number, a
// text where no feature maps text to ids, or a damaged file; InvalidArgument for columns that
// `config` names and that do not exist, with the nearest name, or that have an unsupported type;
// NotFound for tensors; any error of TextIds, of opening and of reading.
absl::StatusOr<TableRows> read_rows_file(FileSystem& files, const std::string& path,
                                         const RowsFileConfig& config, const RowsFileTable& table);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_ROWS_FILE_H_
