// The conformance suite of file formats.
#ifndef MILLRACE_IO_FILE_FORMAT_CONFORMANCE_H_
#define MILLRACE_IO_FILE_FORMAT_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "io/column.h"
#include "io/file_reader.h"
#include "proto/config.pb.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// A column of a file, as it is written and read.
struct ExpectedColumn {
  std::string name;
  ValueType as = ValueType::kInt64;  // the type of the requests
  std::vector<std::string> rows;     // of each row, see text_of_row()
};

// A file of the format under test and its content.
struct ExpectedFile {
  std::string bytes;
  std::vector<ExpectedColumn> columns;  // all columns of the file, in its order
  std::vector<int64_t> bad_rows = {};  // that are not what is asked for; their text does not matter
};

struct FileFormatConformance {
  // Returns a file without bad rows: at least 20 of them, in several row groups if the format has
  // such. Called once a test.
  std::function<ExpectedFile()> file;
  // Returns a file with bad rows. Null: the format has no bad rows.
  std::function<ExpectedFile()> file_with_bad_rows = nullptr;
  // The directory of its files. Each part NAME=VALUE adds a column after the columns of the format.
  std::string directory = "dir";
  // The extension of its files, with the dot, or `config` names the format.
  std::string extension = ".data";
  DataConfig config = {};
  // True if a file may end after any row, so that a truncated file may be valid.
  bool may_end_anywhere = false;
  // True if an empty file is valid and has no rows; a file that may end anywhere may be empty, too.
  bool may_be_empty = false;
  // True if a checksum finds each changed bit.
  bool has_checksums = false;
  // The number of damaged files that the suite tries.
  int damaged_files = 100;
};

// Returns the values of one row as text, each with a semicolon behind it.
std::string text_of_row(const Column& column, int64_t row);

// Returns the promises of FileReader and FileOpener, by open_file() over files in memory: columns()
// and group_rows() are those of the content; any RowRange gives the rows of the whole, for any
// columns in any order, at every call and for several readers on several threads; a reader that is
// opened with layout() of another one gives the same; files that are missing, empty, cut short or
// damaged give errors of one line that name the file, or rows, and no crash; and bad rows are
// added to BadRows, alone, or are a DataLoss error that names the file.
std::vector<Property> file_format_properties(const FileFormatConformance& conformance);

// Registers them as tests of `suite`, see register_properties(). The test links the format.
//
//   [[maybe_unused]] const bool kMsgPack = register_file_format_conformance(
//       "MsgPack", {.file = write_msgpack, .extension = ".msgpack"});
bool register_file_format_conformance(const std::string& suite,
                                      const FileFormatConformance& conformance,
                                      std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_IO_FILE_FORMAT_CONFORMANCE_H_
