// Settings to read a file of which only the path is known.
#ifndef MILLRACE_IO_LOOK_FILE_GUESS_H_
#define MILLRACE_IO_LOOK_FILE_GUESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the settings with which the data set reads the file: `format` where the extension does
// not say it, and for delimited text the delimiter, the kind of header and, for a file without a
// header, names of columns ("column_1" ...). The path is not set. Reads the first 1 MiB,
// or 16 MiB of text whose first line is longer.
// Of libffm's files, `libsvm.fields` is one more than the greatest field that was read.
// The delimiter of delimited text is the delimiter of a first line "sep=;", else the one that
// occurs most often in the first row. There is a header if no cell of the first row is a number, a
// boolean or a date, and either no two are equal and none is empty but the first above integers, or
// some column has a name there and only numbers, booleans or dates below it. Quotes are literal if
// most cells that begin with one are no quoted cells: text follows the closing quote, or there is
// none within 16 MiB. Where such a cell is open at the end of the first 1 MiB, more is read to find
// its end.
// Errors: as the file system and, for delimited text, of find_text_start(); InvalidArgument
// for a directory, a pipe and a format that neither the extension nor the content tells; DataLoss
// for an empty file and for a compressed one of such a format. All name the file.
absl::StatusOr<DataConfig> guess_file(FileSystem& files, const std::string& path);

// The name of the format that is read: "Parquet", "ORC", "delimited text", "TFRecord", "libsvm".
std::string format_name(const DataConfig& config, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_FILE_GUESS_H_
