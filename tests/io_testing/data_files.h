// Small data files for tests, of any format from one table in memory.
#ifndef MILLRACE_TESTS_IO_TESTING_DATA_FILES_H_
#define MILLRACE_TESTS_IO_TESTING_DATA_FILES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// A column of lists, or a plain one, whose rows have one value or none (null).
struct TestColumn {
  template <typename T>
  using Rows = std::vector<std::vector<T>>;

  std::string name;
  std::variant<Rows<int64_t>, Rows<double>, Rows<std::string>> rows;
  bool is_list = false;
  // Of a plain column of integers in Parquet: timestamps in "s", "ms", "us" or "ns"; "": integers.
  std::string time_unit = "";
  std::string zone = "";
};

struct TestTable {
  std::vector<TestColumn> columns;
  int64_t rows() const;
};

// Returns columns "plain", "list" (integers), "number", "numbers", "text" and "texts": plain values
// of which some are missing, and lists of which some are empty.
TestTable mixed_table(int64_t rows);

// Returns the values of one row as text, each with a semicolon behind it.
std::string text_of_row(const TestColumn& column, int64_t row);

// Writes a file of any format. Row groups (stripes) have `group_rows` rows, 0: all in one; the
// other formats have none in their files.
//   CSV: with a header line and lists separated by "|"; a cell is quoted if it must be.
//   TFRECORD: numbers as float32; compressed if the path ends with ".gz".
//   LIBSVM: for `fields` = columns - 1. The first column is the label; of the others, the f-th is
//   field f, integers as f:integer:1 and numbers as f:0:number. No text.
absl::Status write_data_file(const TestTable& table, DataConfig::Format format, int64_t group_rows,
                             const std::string& path);

// One record of a TFRECORD file.
std::string tfrecord(absl::string_view bytes);

// Compressed as gzip does.
std::string gzip(absl::string_view bytes);

// ".orc", ".parquet", ".csv", ".tfrecord", ".libsvm".
absl::string_view extension_of(DataConfig::Format format);

// `rows` examples that look like Criteo's: "label" (0 or 1), "i1".. dense, of which some are
// missing, "c1".. lists of ids, of which some are empty and some hold several. A pure function of
// its arguments; "row" holds the row's number plus `first_row`.
TestTable criteo_like_table(int64_t rows, int dense, int sparse, int64_t first_row = 0);

// The features of that table, with names in braces expanded.
TrainConfig criteo_like_features(int dense, int sparse);

// How many damaged files of a format and a kind a test tries: $MILLRACE_DAMAGED_FILES or 100.
int damaged_files();

// A folder of one's own for the running test, empty.
std::string fresh_test_dir();

// The folder of real data: $MILLRACE_DATA or ../shared/data seen from the repository's root;
// "" without one: the test is to be skipped.
std::string real_data_dir();

}  // namespace millrace

#endif  // MILLRACE_TESTS_IO_TESTING_DATA_FILES_H_
