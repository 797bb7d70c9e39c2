// The type of one column over a set of files.
#ifndef MILLRACE_IO_FILES_SET_COLUMN_H_
#define MILLRACE_IO_FILES_SET_COLUMN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "io/column.h"
#include "io/file_reader.h"

namespace millrace {

// One column of a set of files, which may hold integers in one file and floating-point numbers in
// another, as pandas stores integers with nulls. A column without values fits any other. The order
// of the files does not matter, except in messages. Not thread-safe.
class SetColumn {
 public:
  // Checks that the column of the file `path` fits the columns added before. Errors:
  // InvalidArgument naming both files and types, for text in one file and numbers in the other, for
  // a type that is read in one file alone, and for times of other meanings (have_one_meaning()).
  absl::Status check(const std::string& path, const FileColumn& column) const;

  // Adds the column of a file. REQUIRES: check() succeeds.
  void add(const std::string& path, const FileColumn& column);

  // Returns the type of the values: kDouble if one file has floating-point numbers, kUint64 for
  // integers of which some are unsigned, kText if no file has values.
  ValueType type() const { return type_; }
  // Returns false if no file has values.
  bool has_values() const { return !path_.empty(); }
  // Returns the path of the first file with values; "" if no file has any.
  const std::string& path() const { return path_; }
  // Returns true if some file has integers and another has floating-point numbers.
  bool is_mixed() const { return has_integers_ && type_ == ValueType::kDouble; }
  // Returns false if the type is not supported.
  bool supported() const { return supported_; }
  // Returns the name of the type of the first file with dates or times (io/time_type.h), or "".
  const std::string& time_type_name() const { return time_type_name_; }
  // Returns the type as the format calls it, or all of them: "int64 in 3 files, double in 1".
  std::string type_name() const;

 private:
  std::string path_;  // of the first file with values; empty: none
  std::string path_type_name_;
  std::string time_path_, time_type_name_;  // of the first file with dates or times
  bool supported_ = true;
  bool has_integers_ = false;
  ValueType type_ = ValueType::kText;
  std::vector<std::pair<std::string, int64_t>> type_names_;  // with the number of files of each
};

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_SET_COLUMN_H_
