// Delimited text.
#ifndef MILLRACE_IO_FORMAT_CSV_READER_H_
#define MILLRACE_IO_FORMAT_CSV_READER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"

namespace millrace {

// Opens delimited text, registered as DataConfig::CSV for ".csv" and ".tsv". The file is looked
// through once for its line ends (LF or CR LF); groups of rows are the row groups, and reading one
// reads its bytes alone. Blank lines do not count, and neither do a byte order mark and a first
// line "sep=;".
//
// Every column is of type kText, but hexadecimal ones, which are kUint64: an empty cell is a
// missing value; with `list_delimiter` a cell is a list, whose empty pieces are left out. With a
// TYPED header the columns have the types it says: token and token_seq are kString, float and
// float_seq kDouble, and those ending in _seq are lists separated by spaces. Text is bytes,
// whatever its encoding. A line of more or fewer cells than there are columns is a bad row.
//
// A cell or name that begins with a quote is quoted, as io/format/row_tile.h says, unless quotes
// are literal. Its content is treated like the content of other cells: numbers are parsed, lists
// are split, and no text is a missing value. A row is bad if text follows the closing quote of a
// cell in a column that is read. Errors of a row name the line where the row begins.
//
// Delimiters, quotes and line ends are found by vector instructions in tiles that stay in the
// cache, numbers read eight digits at a time, straight into columns. Only tiles with a quote are
// copied. Errors as FileOpener says; DataLoss for a row beyond kMaxLineBytes, for a quoted cell
// that does not end, with the line where it begins, for a typed header that is none, and for what
// find_text_start() refuses; InvalidArgument for a line "sep=;" that names another delimiter.
// REQUIRES: check_csv() accepts `config`, which FileSet::open checks once for all its files.
absl::StatusOr<std::unique_ptr<FileReader>> open_csv(
    FileSystem& files, const std::string& path, const CsvConfig& config,
    std::shared_ptr<const FileLayout> layout = nullptr);

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_CSV_READER_H_
