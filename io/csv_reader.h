// Delimited text, through Arrow's parser.
#ifndef MILLRACE_IO_CSV_READER_H_
#define MILLRACE_IO_CSV_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"

namespace millrace {

// Opens delimited text, registered as DataConfig::CSV for ".csv". The file is looked through once
// for its line ends; blocks of lines are the row groups. Cells may stand in double quotes but
// not hold line breaks; blank lines do not count. Every column is of type kText: an empty cell is a
// missing value; with `list_delimiter` a cell is a list, whose empty pieces are left out. Numbers
// are decimal. With a TYPED header the columns have the types it says: token and token_seq are
// kString, float and float_seq kDouble, and those ending in _seq are lists separated by spaces.
// Errors as FileOpener says; InvalidArgument for a delimiter that is not one character; DataLoss
// for a line beyond 64 MiB and for a typed header that is none.
absl::StatusOr<std::unique_ptr<FileReader>> open_csv(FileSystem& files, const std::string& path,
                                                     const CsvConfig& config);

}  // namespace millrace

#endif  // MILLRACE_IO_CSV_READER_H_
