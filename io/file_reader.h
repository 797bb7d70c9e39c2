// Reading columns of one file, whatever its format.
#ifndef MILLRACE_IO_FILE_READER_H_
#define MILLRACE_IO_FILE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/column.h"
#include "proto/config.pb.h"

namespace millrace {

// A column as the file describes it.
struct FileColumn {
  std::string name;
  bool supported = true;  // false: of a type we do not read, such as a struct
  ValueType type = ValueType::kInt64;
  std::string type_name;  // as the format calls it, for messages
};

struct ColumnRequest {
  int64_t column = 0;  // index into columns()
  // The column's type, or what delimited text is to become.
  ValueType as = ValueType::kInt64;
  friend bool operator==(const ColumnRequest&, const ColumnRequest&) = default;
};

// Rows [begin, begin + count) of one row group.
struct RowRange {
  int64_t group = 0;
  int64_t begin = 0;
  int64_t count = 0;
};

// An open file. What it says of itself is read once, when it is opened: columns and the row
// groups in the order of the file ("stripes" in ORC, blocks of lines in delimited text).
// Used by one thread at a time.
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

  // Reads those columns and no others, in the order of `requests`.
  // REQUIRES: the range is within the group, columns are supported, no request comes twice.
  // Errors: DataLoss for damage and for delimited text that is not what was asked for; those of
  // the file system; all name the file, its group or row and, where known, the column.
  virtual absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                                   absl::Span<const ColumnRequest> requests) = 0;
};

// Opens files of one format. Errors: those of the file system; DataLoss if the file is not of
// this format or damaged, naming it.
using FileOpener = std::function<absl::StatusOr<std::unique_ptr<FileReader>>(
    FileSystem& files, const std::string& path, const CsvConfig& csv)>;

struct FileFormat {
  DataConfig::Format format = DataConfig::AUTO;
  std::vector<std::string> extensions;  // with their dot, in small letters
  FileOpener open;
};

// Makes a format known; called during static initialization by MILLRACE_REGISTER_FILE_FORMAT.
// The registry never changes afterwards. REQUIRES: the format is not taken (aborts otherwise).
bool register_file_format(FileFormat format);

// Opens a file by config.format or, where that is AUTO, by its extension.
// Errors: NotFound; InvalidArgument for a directory, an unknown extension or a format that is
// not linked in, saying what is; those of the opener.
absl::StatusOr<std::unique_ptr<FileReader>> open_file(FileSystem& files, const std::string& path,
                                                      const DataConfig& config);

}  // namespace millrace

// At namespace scope in the .cc of a reader, whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_FILE_FORMAT(orc, {.format = DataConfig::ORC, ...});
#define MILLRACE_REGISTER_FILE_FORMAT(name, ...)                      \
  [[maybe_unused]] static const bool millrace_file_format_##name##_ = \
      ::millrace::register_file_format(__VA_ARGS__)

#endif  // MILLRACE_IO_FILE_READER_H_
