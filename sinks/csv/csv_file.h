// A file of comma-separated values that grows row by row.
#ifndef MILLRACE_SINKS_CSV_CSV_FILE_H_
#define MILLRACE_SINKS_CSV_CSV_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "framework/report/sink.h"

namespace millrace {

// Returns the shortest decimal number that reads back as `value`; "nan", "inf" or "-inf".
std::string csv_number(double value);

// Removes the first record of `text` and sets `fields` to the fields without quotes. Returns false,
// without a change of `text`, if the record has no line feed at its end.
bool next_csv_record(absl::string_view& text, std::vector<std::string>& fields);

// A file with a line of column names and a row for each call of add(). A column keeps its place; a
// row with a new name adds a column after the others, for which the file is rewritten row by row.
// The first column is "step". Not thread-safe.
class CsvFile {
 public:
  // Borrows `files`.
  CsvFile(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Begins a run. Rows that the run will write again, and an incomplete row, are removed before the
  // first row is added; all rows if `start.first_step` is 0. `set_column`: name of the column with
  // the evaluation set of a row; "": the rows are reports of training.
  void start(SinkStart start, std::string set_column = "");

  // Appends a row: step and name → field, text of csv_field() or csv_number(). `names`: the names
  // of `fields`, in the order in which new columns are added. Errors: as FileSystem; the file then
  // has all earlier rows, and perhaps a part of this row. REQUIRES: no call since start() failed.
  absl::Status add(int64_t step, const std::vector<std::string>& names,
                   const std::map<std::string, std::string>& fields);

  // Makes rows, and the name of the file, durable. If the file was removed, the next row begins a
  // new one.
  absl::Status flush();

 private:
  absl::Status open();
  absl::Status read_kept_rows();
  // Returns true if a run that resumes keeps the row, a line without a line feed.
  bool keeps(const std::string& row) const;
  absl::Status add_columns(const std::vector<std::string>& names);

  FileSystem& files_;
  const std::string path_;
  SinkStart start_;
  std::string set_column_;
  std::unique_ptr<WritableFile> file_;  // null: not opened in this run
  bool new_file_ = false;               // true until the directory is durable
  std::vector<std::string> columns_;    // without "step"
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_CSV_CSV_FILE_H_
