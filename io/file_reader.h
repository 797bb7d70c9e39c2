// Reader of the columns of one file of any format.
#ifndef MILLRACE_IO_FILE_READER_H_
#define MILLRACE_IO_FILE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/bad_rows.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// A column as the file describes it.
struct FileColumn {
  std::string name;
  bool supported = true;  // false: of a type we do not read, such as a struct
  ValueType type = ValueType::kInt64;
  std::string type_name;  // as the format calls it, for messages
  // True if no row has a value of any type: `type` is kText then.
  bool is_empty = false;
  // True if the value is in the path of the file (io/partition_columns.h): `type` is kText then.
  bool is_partition = false;
  double exact_integers = kExactIntegers;  // Column::exact_integers of its values
};

struct ColumnRequest {
  int64_t column = 0;  // index into columns()
  // The column's type, or the target type of a kText column. kText: whole cells as kString,
  // regardless of CsvConfig.list_delimiter.
  ValueType as = ValueType::kInt64;
  friend bool operator==(const ColumnRequest&, const ColumnRequest&) = default;
};

// Returns the type of a column that was requested as `as`: kString for kText.
ValueType read_type(ValueType as);

// Rows [begin, begin + count) of one row group.
struct RowRange {
  int64_t group = 0;
  int64_t begin = 0;
  int64_t count = 0;
};

// The layout of a file, found by a reader when opening the file, which makes opening the file again
// cheaper. Immutable; shared by readers of one file on several threads.
class FileLayout {
 public:
  virtual ~FileLayout() = default;
};

// An open file. Its description is read once, on opening: columns and the row groups in the order
// of the file ("stripes" in ORC, blocks of lines in delimited text). Used by one thread at a time.
//
//   ASSIGN_OR_RETURN(auto file, open_file(FileSystem::local(), "a.orc", DataConfig()));
//   ASSIGN_OR_RETURN(std::vector<Column> columns,
//                    file->read({.group = 0, .begin = 0, .count = 100}, {{.column = 3}}));
class FileReader {
 public:
  virtual ~FileReader() = default;
  virtual const std::string& path() const = 0;
  virtual const std::vector<FileColumn>& columns() const = 0;
  virtual const std::vector<int64_t>& group_rows() const = 0;
  // Returns the layout for open_file; null if the format gains nothing by a layout. The default
  // implementation returns null.
  virtual std::shared_ptr<const FileLayout> layout() const { return nullptr; }

  // Reads the requested columns only, in the order of `requests`. Reports to `bad` each row whose
  // values do not fit the request; the values of such rows are unspecified.
  // REQUIRES: the range is within the group, columns are supported, no request is repeated; `bad`
  // is for range.count rows. Errors: DataLoss for damage; the errors of `bad` and of the file
  // system. All name the file, its group, row or line and, where known, the column.
  virtual absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                                   absl::Span<const ColumnRequest> requests,
                                                   BadRows& bad) = 0;
  // Returns the line, counted from 1, in which each row of the last successful read() begins; valid
  // until the next one. Error messages name rows by these lines. The default implementation returns
  // none, for formats whose rows are no lines of text.
  virtual absl::Span<const int64_t> row_lines() const { return {}; }
  // Returns what row_lines() counts, for messages. Default: "line".
  virtual absl::string_view line_name() const { return "line"; }
  // Reads like the function above, but treats a bad row as an error.
  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests) {
    BadRows strict(range.count, /*skip=*/false);
    return read(range, requests, strict);
  }
};

// Opens files of one format. `layout` is null or the layout of a reader of this file and this
// format.
// Errors: as the file system; DataLoss, naming the file, if the file is not of this format, is
// damaged, or declares a row group of more than config.max_group_bytes.
using FileOpener = std::function<absl::StatusOr<std::unique_ptr<FileReader>>(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout)>;

// A name or an extension that two formats have opens nothing.
struct FileFormat {
  DataConfig::Format format = DataConfig::AUTO;  // AUTO: a format from outside
  std::vector<std::string> extensions;           // with their dot, in small letters
  FileOpener open;
};

// Adds a format. Called during static initialization by MILLRACE_REGISTER_FILE_FORMAT. The registry
// never changes afterwards.
bool register_file_format(absl::string_view name, absl::string_view description, FileFormat format,
                          std::source_location place = std::source_location::current());

// Returns the format that a file has by its extension, AUTO for a format from outside; none if the
// extension belongs to no format or to several.
std::optional<DataConfig::Format> format_of_extension(const std::string& path);

// Opens a file by config.custom_format, config.format or, where that is AUTO, by its extension. The
// reader has an additional column, after the columns of the file, for each partition_columns() of
// its path. If such a column is requested as a number and its value is not a number, all rows are
// bad.
// Errors: NotFound; InvalidArgument for a directory, an unknown
// extension, also of a compressed file, or a format that is not linked in, saying what is, and for
// two formats of one name or extension, naming the places; the errors of the opener and of
// PartRegistry::create.
absl::StatusOr<std::unique_ptr<FileReader>> open_file(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout = nullptr);

}  // namespace millrace

// Use at namespace scope in the .cc of a reader, whose cc_library sets `alwayslink = True`:
//   MILLRACE_REGISTER_FILE_FORMAT(msgpack, "MessagePack maps",
//                                 {.extensions = {".msgpack"}, .open = &open_msgpack});
#define MILLRACE_REGISTER_FILE_FORMAT(name, description, ...)         \
  [[maybe_unused]] static const bool millrace_file_format_##name##_ = \
      ::millrace::register_file_format(#name, (description), __VA_ARGS__)

#endif  // MILLRACE_IO_FILE_READER_H_
