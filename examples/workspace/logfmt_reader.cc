// A reader of a file format.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "io/file_reader.h"
#include "visits.pb.h"

namespace visits {
namespace {

// The lines of a file.
struct Lines : public millrace::FileLayout {
  std::vector<std::string> rows;  // without blank lines
};

absl::StatusOr<std::shared_ptr<const Lines>> read_lines(millrace::FileSystem& files,
                                                        const std::string& path,
                                                        int64_t max_bytes) {
  ASSIGN_OR_RETURN(const millrace::FileInfo info, files.info(path));
  if (info.size_bytes > max_bytes) {
    return absl::DataLossError(absl::StrCat(path, " has ", info.size_bytes,
                                            " bytes, more than max_group_bytes, ", max_bytes));
  }
  ASSIGN_OR_RETURN(const std::string text, millrace::read_file(files, path));
  auto lines = std::make_shared<Lines>();
  lines->rows = absl::StrSplit(text, '\n', absl::SkipEmpty());
  return lines;
}

// Returns the text after "NAME=" in a line; empty if the line has no such field.
absl::string_view field_of(absl::string_view line, absl::string_view name) {
  for (absl::string_view field : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&field, name) && absl::ConsumePrefix(&field, "=")) return field;
  }
  return "";
}

// Adds a value to a column. Returns false if the text does not have the column's type.
bool add_value(absl::string_view text, millrace::Column* column) {
  if (column->type == millrace::ValueType::kInt64) {
    return absl::SimpleAtoi(text, &column->int64s.emplace_back());
  }
  double& value = column->doubles.emplace_back();
  return absl::SimpleAtod(text, &value) && std::isfinite(value);
}

// Adds the values of one row. Returns false if a value does not have the column's type.
bool add_row(absl::string_view field, millrace::Column* column) {
  bool sound = true;
  for (absl::string_view text : absl::StrSplit(field, ',', absl::SkipEmpty())) {
    sound = add_value(text, column) && sound;
  }
  column->offsets.push_back(
      static_cast<int64_t>(std::max(column->int64s.size(), column->doubles.size())));
  return sound;
}

// Reads lines of fields, "bought=1 seconds=12.5 pages=4,5,0", whose values are numbers or lists of
// numbers. A field that a line lacks has no value. The whole file is one row group, which the
// reader keeps in memory.
class LogfmtReader : public millrace::FileReader {
 public:
  using millrace::FileReader::read;

  static absl::StatusOr<std::unique_ptr<millrace::FileReader>> open(
      millrace::FileSystem& files, const std::string& path, const millrace::DataConfig& config,
      std::shared_ptr<const millrace::FileLayout> layout) {
    auto reader = std::make_unique<LogfmtReader>();
    reader->path_ = path;
    const LogfmtConfig& own = config.custom_format().GetExtension(logfmt);
    for (const std::string& name : own.integers()) {
      reader->columns_.push_back(
          {.name = name, .type = millrace::ValueType::kInt64, .type_name = "integer"});
    }
    for (const std::string& name : own.numbers()) {
      reader->columns_.push_back(
          {.name = name, .type = millrace::ValueType::kDouble, .type_name = "number"});
    }
    reader->lines_ = std::static_pointer_cast<const Lines>(std::move(layout));
    if (reader->lines_ == nullptr) {
      ASSIGN_OR_RETURN(reader->lines_, read_lines(files, path, config.max_group_bytes()));
    }
    reader->group_rows_.push_back(static_cast<int64_t>(reader->lines_->rows.size()));
    return reader;
  }

  const std::string& path() const override { return path_; }
  const std::vector<millrace::FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }
  std::shared_ptr<const millrace::FileLayout> layout() const override { return lines_; }

  absl::StatusOr<std::vector<millrace::Column>> read(
      const millrace::RowRange& range, absl::Span<const millrace::ColumnRequest> requests,
      millrace::BadRows& bad) override {
    std::vector<millrace::Column> columns;
    for (const millrace::ColumnRequest& request : requests) {
      const millrace::FileColumn& described = columns_[request.column];
      millrace::Column& column = columns.emplace_back();
      column.type = request.as;
      column.rows = range.count;
      column.offsets = {0};
      for (int64_t row = 0; row < range.count; ++row) {
        const std::string& line = lines_->rows[range.begin + row];
        if (add_row(field_of(line, described.name), &column)) continue;
        RETURN_IF_ERROR(bad.add(
            row, absl::DataLossError(absl::StrCat(path_, ", row ", range.begin + row, ": ",
                                                  described.name, " holds something else than ",
                                                  described.type_name, "s"))));
      }
      millrace::simplify_offsets(column);
    }
    return columns;
  }

 private:
  std::string path_;
  std::shared_ptr<const Lines> lines_;  // shared with readers of the same file
  std::vector<millrace::FileColumn> columns_;
  std::vector<int64_t> group_rows_;
};

MILLRACE_REGISTER_FILE_FORMAT(logfmt, "lines of NAME=VALUE fields",
                              {.extensions = {}, .open = &LogfmtReader::open});

}  // namespace
}  // namespace visits
