// The files of a data configuration, inspected once.
#ifndef MILLRACE_IO_FILES_FILE_SET_H_
#define MILLRACE_IO_FILES_FILE_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/column.h"
#include "io/file_reader.h"
#include "io/files/bad_files.h"
#include "io/files/set_column.h"
#include "proto/config.pb.h"

namespace millrace {

// The paths a configuration names, patterns expanded: in the order of the configuration, and
// by name within a pattern.
// Errors: NotFound for a missing file or a pattern that no file matches; InvalidArgument for no
// path at all and for a file named twice; errors of deep_glob.
absl::StatusOr<std::vector<std::string>> expand_paths(FileSystem& files, const DataConfig& config);

// Files that hold the same columns. Immutable; thread-safe.
class FileSet {
 public:
  struct OpenFile {
    std::unique_ptr<FileReader> reader;
    std::vector<int64_t> columns;  // where each wanted column is among the file's own
  };

  // Opens every file once and checks that it has all `columns`, of types that fit together (see
  // SetColumn).
  // `files` must outlive the set; `bad_files`, if given, gets the files that are left out.
  // Errors: as check_csv, expand_paths and open_file; InvalidArgument naming file and column
  // for a missing or ambiguous column, one that is not readable, or text where other files have
  // numbers; DataLoss if no file has a row, unless the set may be empty. With DataConfig::SKIP,
  // files that are missing, damaged or of another schema have no rows, and are an error only if
  // they are more than max_bad_fraction of all.
  static absl::StatusOr<FileSet> open(FileSystem& files, const DataConfig& config,
                                      std::vector<std::string> columns, bool may_be_empty = false,
                                      BadFiles* bad_files = nullptr);

  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::string>& columns() const { return columns_; }
  // Returns SetColumn::type() of each column. A file may have another type of number.
  std::vector<ValueType> column_types() const;
  // Returns SetColumn::has_values() of a column.
  bool has_values(int64_t column) const { return set_columns_[column].has_values(); }
  // Returns SetColumn::path() of a column.
  const std::string& first_path(int64_t column) const { return set_columns_[column].path(); }
  // Returns SetColumn::time_type_name() of a column.
  const std::string& time_type_name(int64_t column) const {
    return set_columns_[column].time_type_name();
  }
  // For each file the rows of each row group.
  const std::vector<std::vector<int64_t>>& group_rows() const { return group_rows_; }
  // The number of a group's first row in its file.
  int64_t first_row(int64_t file, int64_t group) const { return first_row_[file][group]; }
  int64_t rows() const { return rows_; }

  // Opens a file again, for one thread. Errors: as open(); DataLoss if the file changed.
  absl::StatusOr<OpenFile> open_again(int64_t file) const;

 private:
  FileSet(FileSystem& files, DataConfig config) : files_(&files), config_(std::move(config)) {}
  absl::StatusOr<OpenFile> open_one(const std::string& path,
                                    std::shared_ptr<const FileLayout> layout) const;
  absl::Status add(const std::string& path);
  absl::Status skip(const std::string& path, size_t path_count, const absl::Status& why);

  FileSystem* files_;
  DataConfig config_;
  std::vector<std::string> columns_;
  std::vector<SetColumn> set_columns_;  // of columns_
  std::vector<std::string> paths_;
  // Shared with the readers of the files.
  std::vector<std::shared_ptr<const FileLayout>> layouts_;
  std::vector<std::vector<int64_t>> group_rows_;
  std::vector<std::vector<int64_t>> first_row_;
  int64_t rows_ = 0;
  int64_t bad_files_ = 0;
  int64_t readable_files_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FILES_FILE_SET_H_
