// The schema of files of data, and statistics of a sample.
#ifndef MILLRACE_IO_LOOK_DATA_LOOK_H_
#define MILLRACE_IO_LOOK_DATA_LOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "io/look/column_look.h"
#include "io/look/label_look.h"
#include "proto/config.pb.h"

namespace millrace {

struct LookOptions {
  std::vector<std::string> paths;       // files and patterns
  std::vector<std::string> eval_paths;  // the same, of evaluation data; may be empty
  // Default: the column that has a usual name of a label, if there is one.
  std::optional<LabelRule> label;
  int64_t sample_rows = 200000;     // of each of the two sets; at least 1
  int64_t sample_cells = 16 << 20;  // reduces sample_rows for many columns
  int64_t max_columns = 10000;      // more are an error
};

// Labels of rows of the sample.
struct LabelCount {
  int64_t rows = 0;       // that have a label
  int64_t positives = 0;  // label 1
  int64_t others = 0;     // neither 0 nor 1

  // Share of positives; 0 without rows.
  double rate() const;
};

struct FileLook {
  std::string path;
  int64_t rows = 0;
  int64_t sampled_rows = 0;
  LabelCount label;
};

// One set of files of one schema.
struct FileSetLook {
  DataConfig config;  // reads them; with `path` as the options name them
  std::string format;
  std::vector<FileLook> files;
  int64_t rows = 0;
  int64_t sampled_rows = 0;
  std::vector<ColumnLook> columns;
  LabelCount label;
};

struct DataLook {
  FileSetLook train;
  std::optional<FileSetLook> eval;
  std::optional<LabelRule> label;  // its column is one of the data
  // Evaluation rows of the sample that are also rows of the training sample, all columns equal.
  int64_t leaked_rows = 0;
};

// Returns the csv.list_delimiter that splits the lists in cells (ColumnLook::list_cell): the only
// one of these columns, which no cell of another column contains. Returns 0 without lists or such a
// one.
char common_list_delimiter(const FileSetLook& look);

// Reads the schema of every file and a sample that is spread evenly over all rows. The same files
// give the same look. Columns of types that no reader reads are part of the look without
// statistics. A column may have several types of numbers, and no values in some files (SetColumn).
// Partitions (io/partition_columns.h) that not every file has, of both sets, are left out.
// Errors: as expand_paths, guess_file, open_file and FileReader::read. InvalidArgument for
// files of different schemas, more than max_columns columns, two columns of one name, and a label
// that is no column, no number or a list. DataLoss for files without rows.
absl::StatusOr<DataLook> look_at_data(FileSystem& files, const LookOptions& options);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_DATA_LOOK_H_
