// Delimited text for tests of its reader.
#ifndef MILLRACE_IO_FORMAT_CSV_TESTING_H_
#define MILLRACE_IO_FORMAT_CSV_TESTING_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "io/file_reader.h"
#include "io/format/csv_reader.h"
#include "proto/config.pb.h"
#include "tests/io_testing/data_files.h"

namespace millrace::csv_testing {

// Opens a file with this text.
inline absl::StatusOr<std::unique_ptr<FileReader>> open(const std::string& text,
                                                        CsvConfig config = {}) {
  const std::string path = fresh_test_dir() + "/data.csv";
  RETURN_IF_ERROR(write_file_atomically(FileSystem::local(), path, text));
  return open_csv(FileSystem::local(), path, config);
}

// Reads one column of the first group of such a file.
inline absl::StatusOr<Column> read(const std::string& text, ColumnRequest request,
                                   CsvConfig config = {}) {
  ASSIGN_OR_RETURN(const auto reader, open(text, config));
  ASSIGN_OR_RETURN(std::vector<Column> columns,
                   reader->read({0, 0, reader->group_rows().at(0)}, {request}));
  return columns[0];
}

// The configuration of text whose columns have these names and which has no header.
inline CsvConfig named(std::vector<std::string> columns) {
  CsvConfig config;
  for (const std::string& column : columns) config.add_column(column);
  return config;
}

}  // namespace millrace::csv_testing

#endif  // MILLRACE_IO_FORMAT_CSV_TESTING_H_
