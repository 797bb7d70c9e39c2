#include "io/csv_reader.h"

#include <arrow/array/array_binary.h>
#include <arrow/csv/api.h>
#include <arrow/io/memory.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "io/arrow_file.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 16384;
constexpr int64_t kGroupBytes = 8 << 20;  // a group ends after the line that reaches this
constexpr int64_t kMaxLineBytes = 64 << 20;
constexpr int64_t kReadBytes = 1 << 20;

// Lines of the file: rows [first_row, first_row + rows), bytes [begin, end).
struct LineGroup {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

// Appends the value that `cell` stands for. Returns: whether it is one.
bool append_value(absl::string_view cell, Column* column) {
  if (column->type == ValueType::kString) {
    column->strings.push_back(cell);
    return true;
  }
  const char* begin = cell.data();
  const char* const end = cell.data() + cell.size();
  if (column->type == ValueType::kDouble) {
    double value = 0;
    const auto result = fast_float::from_chars(begin, end, value);
    column->doubles.push_back(value);
    return result.ec == std::errc() && result.ptr == end;
  }
  int64_t value = 0;
  const auto result = std::from_chars(begin, end, value);
  column->int64s.push_back(value);
  return result.ec == std::errc() && result.ptr == end;
}

bool one_value_each(const std::vector<int64_t>& offsets) {
  for (size_t row = 0; row < offsets.size(); ++row) {
    if (offsets[row] != static_cast<int64_t>(row)) return false;
  }
  return true;
}

// What one name in a typed header stands for; the delimiter of its list, 0 for one value.
struct TypedColumn {
  FileColumn column;
  char list_delimiter = 0;
};

// Errors: DataLoss if `text` is not name:type.
absl::StatusOr<TypedColumn> parse_typed_column(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string type = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool token = type == "token" || type == "token_seq";
  const bool number = type == "float" || type == "float_seq";
  if (colon == 0 || !(token || number)) {
    return absl::DataLossError(
        absl::StrCat("column \"", absl::CEscape(text.substr(0, 80)),
                     "\" of the typed header is not name:type with one of the types token, "
                     "token_seq, float, float_seq"));
  }
  return TypedColumn{{.name = text.substr(0, colon),
                      .type = token ? ValueType::kString : ValueType::kDouble,
                      .type_name = type},
                     absl::EndsWith(type, "_seq") ? ' ' : '\0'};
}

// Cuts a file into groups of whole lines, as its bytes come by.
class LineScanner {
 public:
  // `with_header`: the first line that is not blank is no row and gets a group of its own.
  explicit LineScanner(bool with_header) : header_due_(with_header) {}

  // The next `bytes` of the file. Errors: DataLoss for a line that is too long.
  absl::Status scan(absl::string_view bytes) {
    for (size_t begin = 0; begin < bytes.size();) {
      const size_t newline = bytes.find('\n', begin);
      const size_t end = newline == absl::string_view::npos ? bytes.size() : newline + 1;
      const absl::string_view piece = bytes.substr(begin, end - begin);
      blank_ = blank_ && piece.find_first_not_of("\r\n") == absl::string_view::npos;
      offset_ += static_cast<int64_t>(piece.size());
      if (offset_ - line_begin_ > kMaxLineBytes) {
        return absl::DataLossError(absl::StrCat("a line of more than ", kMaxLineBytes, " bytes"));
      }
      if (newline != absl::string_view::npos) end_line();
      begin = end;
    }
    return absl::OkStatus();
  }

  // REQUIRES: the whole file was scanned.
  std::vector<LineGroup> finish() {
    if (offset_ > line_begin_) end_line();
    if (open_.rows > 0) groups_.push_back(open_);
    return std::move(groups_);
  }

 private:
  void end_line() {
    line_begin_ = offset_;
    open_.end = offset_;
    if (!std::exchange(blank_, true)) ++open_.rows;
    const bool full = open_.rows == kGroupRows || open_.end - open_.begin >= kGroupBytes;
    if (open_.rows == 0 || !(full || header_due_)) return;
    groups_.push_back(open_);
    const int64_t next_row = header_due_ ? 0 : open_.first_row + open_.rows;
    header_due_ = false;
    open_ = {.begin = offset_, .end = offset_, .first_row = next_row, .rows = 0};
  }

  bool header_due_;
  bool blank_ = true;  // the line so far
  int64_t offset_ = 0;
  int64_t line_begin_ = 0;
  LineGroup open_;
  std::vector<LineGroup> groups_;
};

class CsvReader : public FileReader {
 public:
  CsvReader(std::string path, std::shared_ptr<ArrowFile> file, const CsvConfig& config)
      : path_(std::move(path)), file_(std::move(file)), config_(config) {}

  absl::Status open() {
    if (config_.delimiter().size() != 1 || config_.list_delimiter().size() > 1) {
      return absl::InvalidArgumentError("csv: a delimiter must be one character");
    }
    const bool with_header = config_.column().empty();
    LineScanner scanner(with_header);
    RETURN_IF_ERROR(scan_file(&scanner));
    groups_ = scanner.finish();
    std::vector<std::string> names(config_.column().begin(), config_.column().end());
    if (with_header) {
      if (groups_.empty()) return absl::DataLossError("the file has no line of column names");
      ASSIGN_OR_RETURN(names, read_header(groups_.front()));
      groups_.erase(groups_.begin());
    }
    RETURN_IF_ERROR(set_columns(names));
    for (const LineGroup& group : groups_) group_rows_.push_back(group.rows);
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests) override {
    const LineGroup& group = groups_[range.group];
    ASSIGN_OR_RETURN(
        const std::shared_ptr<arrow::Table> table, parse(group, &requests),
        absl::StrCat(path_, ", rows ", group.first_row, " to ", group.first_row + group.rows - 1));
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::string& name = columns_[requests[i].column].name;
      columns[i].type = requests[i].as;
      RETURN_IF_ERROR(convert(*table->GetColumnByName(name), range,
                              list_delimiters_[requests[i].column], &columns[i]),
                      absl::StrCat(path_, ", column ", name));
    }
    return columns;
  }

 private:
  absl::Status set_columns(const std::vector<std::string>& names) {
    const char list_delimiter =
        config_.list_delimiter().empty() ? '\0' : config_.list_delimiter()[0];
    for (const std::string& name : names) {
      TypedColumn column{{.name = name, .type = ValueType::kText, .type_name = "text"},
                         list_delimiter};
      if (config_.header() == CsvConfig::TYPED) {
        ASSIGN_OR_RETURN(column, parse_typed_column(name));
      }
      columns_.push_back(std::move(column.column));
      list_delimiters_.push_back(column.list_delimiter);
    }
    return absl::OkStatus();
  }

  absl::Status scan_file(LineScanner* scanner) {
    return guard_arrow(*file_, [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
      for (int64_t offset = 0; offset < size;) {
        ARROW_ASSIGN_OR_RAISE(const auto bytes, file_->ReadAt(offset, kReadBytes));
        if (bytes->size() == 0) return arrow::Status::IOError("the file became shorter");
        offset += bytes->size();
        const absl::Status status = scanner->scan(
            {reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())});
        if (!status.ok()) return arrow::Status::IOError(std::string(status.message()));
      }
      return arrow::Status::OK();
    });
  }

  // The cells of a group as text, of the requested columns or (no requests) of all.
  absl::StatusOr<std::shared_ptr<arrow::Table>> parse(
      const LineGroup& group, const absl::Span<const ColumnRequest>* requests) {
    arrow::csv::ReadOptions read = arrow::csv::ReadOptions::Defaults();
    read.use_threads = false;
    read.block_size = static_cast<int32_t>(group.end - group.begin + 1);
    arrow::csv::ParseOptions parse = arrow::csv::ParseOptions::Defaults();
    parse.delimiter = config_.delimiter()[0];
    arrow::csv::ConvertOptions convert = arrow::csv::ConvertOptions::Defaults();
    convert.check_utf8 = false;
    convert.default_column_type = arrow::binary();
    if (requests == nullptr) {
      read.autogenerate_column_names = true;
    } else {
      for (const FileColumn& column : columns_) read.column_names.push_back(column.name);
      for (const ColumnRequest& request : *requests) {
        const std::string& name = columns_[request.column].name;
        auto& wanted = convert.include_columns;
        if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) wanted.push_back(name);
      }
    }
    std::shared_ptr<arrow::Table> table;
    RETURN_IF_ERROR(guard_arrow(*file_, [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(const auto bytes, file_->ReadAt(group.begin, group.end - group.begin));
      ARROW_ASSIGN_OR_RAISE(const auto reader, arrow::csv::TableReader::Make(
                                                   arrow::io::default_io_context(),
                                                   std::make_shared<arrow::io::BufferReader>(bytes),
                                                   read, parse, convert));
      return reader->Read().Value(&table);
    }));
    if (table->num_rows() != group.rows) {
      return absl::DataLossError(absl::StrCat(group.rows, " lines hold ", table->num_rows(),
                                              " rows; line breaks within cells are not supported"));
    }
    return table;
  }

  absl::StatusOr<std::vector<std::string>> read_header(const LineGroup& line) {
    ASSIGN_OR_RETURN(const std::shared_ptr<arrow::Table> table, parse(line, nullptr),
                     "the line of column names");
    std::vector<std::string> names;
    for (int i = 0; i < table->num_columns(); ++i) {
      const auto& cells = static_cast<const arrow::BinaryArray&>(*table->column(i)->chunk(0));
      names.emplace_back(cells.GetView(0));
    }
    return names;
  }

  absl::Status convert(const arrow::ChunkedArray& chunks, const RowRange& range,
                       char list_delimiter, Column* column) const {
    int64_t first = groups_[range.group].first_row;
    int64_t skip = range.begin;
    int64_t left = range.count;
    column->offsets = {0};
    column->rows = range.count;
    for (const auto& chunk : chunks.chunks()) {
      const auto& cells = static_cast<const arrow::BinaryArray&>(*chunk);
      const int64_t begin = std::min(skip, cells.length());
      const int64_t end = std::min(cells.length(), begin + left);
      for (int64_t i = begin; i < end; ++i) {
        const auto cell = cells.GetView(i);
        RETURN_IF_ERROR(append_cell({cell.data(), cell.size()}, list_delimiter, column),
                        absl::StrCat("row ", first + i));
      }
      skip -= begin;
      left -= end - begin;
      first += cells.length();
    }
    if (one_value_each(column->offsets)) column->offsets.clear();
    return absl::OkStatus();
  }

  static absl::Status append_cell(absl::string_view cell, char list_delimiter, Column* column) {
    int64_t count = 0;
    auto append = [&](absl::string_view text) -> absl::Status {
      if (column->type != ValueType::kString) text = absl::StripAsciiWhitespace(text);
      if (text.empty()) return absl::OkStatus();
      ++count;
      if (append_value(text, column)) return absl::OkStatus();
      return absl::DataLossError(
          absl::StrCat("\"", text.substr(0, 40), "\" is not ",
                       column->type == ValueType::kDouble ? "a number" : "an integer"));
    };
    if (list_delimiter == 0) {
      RETURN_IF_ERROR(append(cell));
    } else {
      for (const absl::string_view piece : absl::StrSplit(cell, list_delimiter)) {
        RETURN_IF_ERROR(append(piece));
      }
    }
    column->offsets.push_back(column->offsets.back() + count);
    return absl::OkStatus();
  }

  const std::string path_;
  const std::shared_ptr<ArrowFile> file_;
  const CsvConfig config_;
  std::vector<LineGroup> groups_;
  std::vector<FileColumn> columns_;
  std::vector<char> list_delimiters_;  // of each column; 0: one value
  std::vector<int64_t> group_rows_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_csv(FileSystem& files, const std::string& path,
                                                     const CsvConfig& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto reader =
      std::make_unique<CsvReader>(path, std::make_shared<ArrowFile>(std::move(file)), config);
  RETURN_IF_ERROR(reader->open(), absl::StrCat("cannot open ", path, " as delimited text"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(csv, {.format = DataConfig::CSV,
                                    .extensions = {".csv"},
                                    .open = [](FileSystem& files, const std::string& path,
                                               const CsvConfig& config) {
                                      return open_csv(files, path, config);
                                    }});

}  // namespace millrace
