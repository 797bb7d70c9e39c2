// A reader of a file format.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "examples/own_job/own_job.pb.h"
#include "io/file_reader.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 4096;
constexpr int64_t kPieceBytes = 1 << 20;

// The places of the rows of a file, so that opening the file again reads nothing.
struct JsonLinesLayout : public FileLayout {
  struct Group {
    int64_t begin = 0, end = 0;  // bytes
    int64_t rows = 0;
  };
  std::vector<Group> groups;
};

// Cuts a file into groups of whole lines, from its lines in order.
class Indexer {
 public:
  // `max_group_bytes`: the maximum size of the text of a group.
  explicit Indexer(int64_t max_group_bytes) : max_group_bytes_(max_group_bytes) {}

  // Adds the line [begin, end), unless it is blank. Errors: DataLoss for a line that is too long.
  absl::Status add_line(int64_t begin, int64_t end, bool is_blank) {
    if (is_blank) return absl::OkStatus();
    if (end - begin > max_group_bytes_) {
      return absl::DataLossError(absl::StrCat("the line at byte ", begin, " has ", end - begin,
                                              " bytes and max_group_bytes is ", max_group_bytes_,
                                              "; cut the line or raise max_group_bytes"));
    }
    if (group_.rows > 0 && end - group_.begin > max_group_bytes_) end_group();
    // Blank lines before the first row belong to no group.
    if (group_.rows == 0) group_.begin = begin;
    group_.end = end;
    if (++group_.rows == kGroupRows) end_group();
    return absl::OkStatus();
  }

  std::shared_ptr<const JsonLinesLayout> finish() {
    if (group_.rows > 0) end_group();
    return layout_;
  }

 private:
  void end_group() {
    layout_->groups.push_back(group_);
    group_ = {};
  }

  const int64_t max_group_bytes_;
  std::shared_ptr<JsonLinesLayout> layout_ = std::make_shared<JsonLinesLayout>();  // the result
  JsonLinesLayout::Group group_;
};

// Reads the file once and returns its groups. Errors: as ReadableFile::read_at() and Indexer.
absl::StatusOr<std::shared_ptr<const JsonLinesLayout>> index(ReadableFile& file,
                                                             int64_t max_group_bytes) {
  Indexer indexer(max_group_bytes);
  int64_t line_begin = 0;
  bool is_blank = true;  // the current line, so far; see is_blank_line()
  std::string piece(kPieceBytes, '\0');
  int64_t offset = 0;
  while (true) {
    ASSIGN_OR_RETURN(const int64_t bytes, file.read_at(offset, kPieceBytes, piece.data()));
    for (int64_t i = 0; i < bytes; ++i) {
      if (piece[i] == '\n') {
        RETURN_IF_ERROR(indexer.add_line(line_begin, offset + i + 1, is_blank));
        line_begin = offset + i + 1;
        is_blank = true;
      } else if (piece[i] != '\r') {
        is_blank = false;
      }
    }
    offset += bytes;
    if (bytes < kPieceBytes) break;
  }
  RETURN_IF_ERROR(indexer.add_line(line_begin, offset, is_blank));
  return indexer.finish();
}

// Returns true if the line has nothing but carriage returns.
bool is_blank_line(absl::string_view line) {
  return line.find_first_not_of('\r') == absl::string_view::npos;
}

// Reads lines of JSON objects whose fields are columns: {"label": 1, "i1": 0.5, "c1": [3, 4]}. A
// field that is missing or null has no value. Blank lines are not rows.
class JsonLinesReader : public FileReader {
 public:
  using FileReader::read;

  static absl::StatusOr<std::unique_ptr<FileReader>> open(
      FileSystem& files, const std::string& path, const DataConfig& config,
      std::shared_ptr<const FileLayout> layout) {
    auto reader = std::make_unique<JsonLinesReader>();
    reader->path_ = path;
    const JsonLinesConfig& own = config.custom_format().GetExtension(json_lines);
    for (const std::string& name : own.integers()) reader->add_column(name, ValueType::kInt64);
    for (const std::string& name : own.numbers()) reader->add_column(name, ValueType::kDouble);
    ASSIGN_OR_RETURN(reader->file_, files.open(path));
    reader->layout_ = std::static_pointer_cast<const JsonLinesLayout>(std::move(layout));
    if (reader->layout_ == nullptr) {
      ASSIGN_OR_RETURN(reader->layout_, index(*reader->file_, config.max_group_bytes()), path);
    }
    for (const JsonLinesLayout::Group& group : reader->layout_->groups) {
      reader->group_rows_.push_back(group.rows);
    }
    return reader;
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }
  std::shared_ptr<const FileLayout> layout() const override { return layout_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    ASSIGN_OR_RETURN(const std::string text, bytes_of(layout_->groups[range.group]), path_);
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      columns[i].type = requests[i].as;
      columns[i].rows = range.count;
      columns[i].offsets = {0};
    }
    int64_t row = -range.begin;
    absl::string_view rest = text;
    while (row < range.count && !rest.empty()) {
      const size_t length = std::min(rest.find('\n'), rest.size());
      const absl::string_view line = rest.substr(0, length);  // JSON ignores '\r' at its end
      rest.remove_prefix(std::min(length + 1, rest.size()));
      if (is_blank_line(line) || row++ < 0) continue;
      const std::string error = add_row(line, requests, &columns);
      if (error.empty()) continue;
      RETURN_IF_ERROR(bad.add(
          row - 1, absl::DataLossError(absl::StrCat(path_, ", row ", range.begin + row - 1,
                                                    " of group ", range.group, ": ", error))));
    }
    if (row < range.count) {
      return absl::DataLossError(absl::StrCat(path_, " changed while it was being read"));
    }
    for (Column& column : columns) simplify_offsets(column);
    return columns;
  }

 private:
  void add_column(const std::string& name, ValueType type) {
    columns_.push_back({.name = name,
                        .type = type,
                        .type_name = type == ValueType::kInt64 ? "integer" : "number"});
  }

  absl::StatusOr<std::string> bytes_of(const JsonLinesLayout::Group& group) {
    std::string text(group.end - group.begin, '\0');
    ASSIGN_OR_RETURN(const int64_t bytes,
                     file_->read_at(group.begin, group.end - group.begin, text.data()));
    text.resize(bytes);
    return text;
  }

  // Adds the values of a line. Returns the error of the line, or "".
  std::string add_row(absl::string_view line, absl::Span<const ColumnRequest> requests,
                      std::vector<Column>* columns) const {
    const auto object = nlohmann::json::parse(line.begin(), line.end(), /*callback=*/nullptr,
                                              /*allow_exceptions=*/false);
    std::string error = object.is_object() ? "" : "the line is not a JSON object";
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::string& name = columns_[requests[i].column].name;
      Column& column = (*columns)[i];
      if (object.is_object() && object.contains(name)) {
        const nlohmann::json& field = object[name];
        const bool fits = field.is_array()
                              ? std::all_of(field.begin(), field.end(),
                                            [&](const auto& value) { return add(value, &column); })
                              : add(field, &column);
        if (!fits)
          error = absl::StrCat("column ", name, " holds something else than ",
                               columns_[requests[i].column].type_name, "s");
      }
      column.offsets.push_back(static_cast<int64_t>(
          column.type == ValueType::kInt64 ? column.int64s.size() : column.doubles.size()));
    }
    return error;
  }

  // Adds a value. Returns false if the value does not have the type of the column.
  static bool add(const nlohmann::json& value, Column* column) {
    if (value.is_null()) return true;
    if (column->type == ValueType::kDouble) {
      if (!value.is_number()) return false;
      column->doubles.push_back(value.get<double>());
      return true;
    }
    // The parser represents integers of 0 and above as unsigned integers.
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return false;
    column->int64s.push_back(value.get<int64_t>());
    return true;
  }

  std::string path_;
  std::unique_ptr<ReadableFile> file_;
  std::shared_ptr<const JsonLinesLayout> layout_;  // shared with readers of the same file
  std::vector<FileColumn> columns_;
  std::vector<int64_t> group_rows_;
};

MILLRACE_REGISTER_FILE_FORMAT(json_lines, "lines of JSON objects",
                              {.extensions = {}, .open = &JsonLinesReader::open});

}  // namespace
}  // namespace millrace
