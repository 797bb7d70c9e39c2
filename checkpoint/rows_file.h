// Rows of a table that something else made.
#ifndef MILLRACE_CHECKPOINT_ROWS_FILE_H_
#define MILLRACE_CHECKPOINT_ROWS_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "embedding/table_rows.h"
#include "proto/config.pb.h"

namespace millrace {

// Reads all rows of a file: ids and weights. Memory: twice the file.
//
//   safetensors       ids: I64 [rows], weights: F32 [rows, dim]
//   Parquet, ORC      a column of integers; a column of lists of `dim` numbers, or `dim` columns
//   text              "id number number …" on each line; blank lines are passed over
//
// Errors: DataLoss naming the file and the line, from 1, or the row, from 0: another dimension than
// `dim`, an id that comes twice (and where it was before), what is no number or not finite, a
// damaged file; InvalidArgument for columns that `config` names and that are not there, with the
// nearest, or of a type that cannot be, NotFound for tensors; those of opening and reading.
absl::StatusOr<TableRows> read_rows_file(FileSystem& files, const std::string& path,
                                         const RowsFileConfig& config, int64_t dim);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_ROWS_FILE_H_
