// Small data files for tests, of any format, from one table in memory.
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

// A column of lists, or a plain column, whose rows have one value or none (null).
struct TestColumn {
  template <typename T>
  using Rows = std::vector<std::vector<T>>;

  std::string name;
  std::variant<Rows<int64_t>, Rows<double>, Rows<std::string>> rows;
  bool is_list = false;
  // For a plain column of integers in Parquet: timestamps in "s", "ms", "us" or "ns"; "": integers.
  std::string time_unit = "";
  std::string zone = "";
};

struct TestTable {
  std::vector<TestColumn> columns;
  int64_t rows() const;
};

// Returns columns "plain", "list" (integers), "number", "numbers", "text" and "texts": plain
// values, some of which are missing, and lists, some of which are empty.
TestTable mixed_table(int64_t rows);

// Returns the values of one row as text, each followed by a semicolon.
std::string text_of_row(const TestColumn& column, int64_t row);

// Writes a file of any format. Row groups (stripes) have `group_rows` rows, 0: all in one; other
// formats have no groups in their files.
//   CSV: with a header line and lists separated by "|"; cells are quoted if necessary.
//   TFRECORD: numbers as float32; compressed if the path ends with ".gz".
//   LIBSVM: for `fields` = columns - 1. The first column is the label; the f-th other column is
//   field f, integers as f:integer:1 and numbers as f:0:number. No text.
absl::Status write_data_file(const TestTable& table, DataConfig::Format format, int64_t group_rows,
                             const std::string& path);

// Returns one record of a TFRECORD file.
std::string tfrecord(absl::string_view bytes);

// Returns the bytes compressed as by gzip.
std::string gzip(absl::string_view bytes);

// Returns ".orc", ".parquet", ".csv", ".tfrecord" or ".libsvm".
absl::string_view extension_of(DataConfig::Format format);

// Returns `rows` examples similar to Criteo's: "label" (0 or 1), "i1".. dense, some of them
// missing, "c1".. lists of ids, some of them empty and some with several ids. A pure function of
// its arguments; "row" contains the row's number plus `first_row`.
TestTable criteo_like_table(int64_t rows, int dense, int sparse, int64_t first_row = 0);

// Returns the features of this table, with names in braces expanded.
TrainConfig criteo_like_features(int dense, int sparse);

// Returns the number of damaged files that a test tries of each format and kind:
// $MILLRACE_DAMAGED_FILES or 100.
int damaged_files();

// Returns an empty folder of the running test.
std::string fresh_test_dir();

// Returns the folder of real data: $MILLRACE_DATA or ../shared/data relative to the repository's
// root; "" if there is none, and the test must be skipped.
std::string real_data_dir();

}  // namespace millrace

#endif  // MILLRACE_TESTS_IO_TESTING_DATA_FILES_H_
