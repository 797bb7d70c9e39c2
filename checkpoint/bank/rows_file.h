// Rows of a table that something else made.
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

// The table that rows are for.
struct RowsFileTable {
  int64_t dim = 0;
  // Number of columns, the last ones of `dim`, that the model adds. A file has all columns, or all
  // but these.
  int64_t added_columns = 0;
  // All features of the job. The features of this table make ids of text (io/feature/text_ids.h).
  std::vector<FeatureConfig> features = {};
};

// Reads all rows of a file: ids and weights. Memory: twice the file.
//
//   safetensors       ids: I64 [rows], weights: F32 [rows, dim]
//   Parquet, ORC      a column of integers or text; a column of lists of `dim` numbers, or `dim`
//                     columns
//   text              "id number number …" on each line; blank lines are passed over
//
// In text, ids are integers if all of them are; else all are texts, also those of digits. Rows
// whose text is not in the vocabulary are omitted; how many is logged. TableRows.dim is the number
// of columns of the file. Errors: DataLoss naming the file and the line, from 1, or the row, from
// 0: another dimension than the table's, an id that comes twice (and where it was before), what is
// no number or not finite, a text where no feature makes ids of text, a damaged file;
// InvalidArgument for columns that `config` names and that are not there, with the nearest, or of a
// type that cannot be, NotFound for tensors; those of TextIds, of opening and reading.
absl::StatusOr<TableRows> read_rows_file(FileSystem& files, const std::string& path,
                                         const RowsFileConfig& config, const RowsFileTable& table);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_BANK_ROWS_FILE_H_
