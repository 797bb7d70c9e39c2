#include "io/format/csv_reader.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/format/cell_parser.h"
#include "io/format/csv_config.h"
#include "io/format/row_tile.h"
#include "io/format/text_lines.h"

namespace millrace {
namespace {

struct CsvLayout : public FileLayout {
  int64_t size_bytes = 0;
  LineIndex lines;
};

// One column as written.
struct CsvColumn {
  FileColumn column;
  CellFormat format;
};

// Errors: DataLoss if `text` is not name:type.
absl::StatusOr<CsvColumn> parse_typed_column(const std::string& text) {
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
  CsvColumn column;
  column.column = {.name = text.substr(0, colon),
                   .type = token ? ValueType::kString : ValueType::kDouble,
                   .type_name = type};
  column.format.list_delimiter = absl::EndsWith(type, "_seq") ? ' ' : '\0';
  column.format.is_typed = true;
  return column;
}

// A name for messages, which are one line.
std::string in_message(const std::string& name) {
  const bool is_plain = std::none_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  return is_plain ? name : absl::Utf8SafeCEscape(name);
}

// `where`: of the closing quote, if another line must be named for it.
std::string text_behind_quote(const QuoteFault& fault, absl::string_view where = "") {
  const std::string hint = delimiter_hint_behind_quote(fault.text);
  return absl::StrCat("the closing quote of the cell", where, " is followed by \"",
                      absl::CEscape(fault.text), "\"",
                      hint.empty() ? kLiteralQuotesAdvice : absl::string_view(hint));
}

class CsvReader : public FileReader {
 public:
  using FileReader::read;
  CsvReader(std::string path, std::unique_ptr<ReadableFile> file, const CsvConfig& config)
      : path_(std::move(path)), file_(std::move(file)), config_(config) {}

  absl::Status open(std::shared_ptr<const FileLayout> layout) {
    const bool with_header = config_.column().empty();
    layout_ = std::static_pointer_cast<const CsvLayout>(std::move(layout));
    if (layout_ == nullptr) {
      ASSIGN_OR_RETURN(layout_, make_layout(with_header));
    } else if (layout_->size_bytes != file_->size_bytes()) {
      return absl::DataLossError("the file changed while it was being read");
    }
    std::vector<std::string> names(config_.column().begin(), config_.column().end());
    if (with_header) {
      ASSIGN_OR_RETURN(names, read_header());
    }
    RETURN_IF_ERROR(set_columns(names));
    tile_.emplace(config_.delimiter()[0], static_cast<int64_t>(columns_.size()));
    for (const LineGroup& group : layout_->lines.groups) group_rows_.push_back(group.rows);
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }
  std::shared_ptr<const FileLayout> layout() const override { return layout_; }

  absl::Span<const int64_t> row_lines() const override { return row_lines_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    const LineGroup& group = layout_->lines.groups[range.group];
    // The empty cells of a line that is too short lie side by side, maybe behind the text.
    RETURN_IF_ERROR(buffer_.read(*file_, group, static_cast<int64_t>(columns_.size())), path_);
    std::vector<CellParser> parsers;
    for (const ColumnRequest& request : requests) {
      CellFormat format = formats_[request.column];
      const bool is_whole = request.as == ValueType::kText;
      if (is_whole) format.list_delimiter = 0;
      parsers.emplace_back(is_whole ? ValueType::kString : request.as, format, range.count);
    }
    RETURN_IF_ERROR(parse(group, range, requests, parsers, bad));
    std::vector<Column> columns;
    for (CellParser& parser : parsers) columns.push_back(parser.finish());
    return columns;
  }

 private:
  absl::StatusOr<std::shared_ptr<const CsvLayout>> make_layout(bool with_header) const {
    auto layout = std::make_shared<CsvLayout>();
    layout->size_bytes = file_->size_bytes();
    const char delimiter = config_.delimiter()[0];
    LineIndexOptions options = {.with_header = with_header, .separator = delimiter};
    if (!config_.literal_quotes()) options.quoted_delimiter = delimiter;
    ASSIGN_OR_RETURN(layout->lines, index_lines(*file_, options));
    return layout;
  }

  absl::StatusOr<std::vector<std::string>> read_header() const {
    const LineGroup& line = layout_->lines.header;
    if (line.rows == 0) return absl::DataLossError("the file has no line of column names");
    LineBuffer buffer;
    RETURN_IF_ERROR(buffer.read(*file_, line));
    absl::string_view text(buffer.data(), buffer.size());
    while (absl::StartsWith(text, "\n") || absl::StartsWith(text, "\r")) text.remove_prefix(1);
    RETURN_IF_ERROR(check_is_text(line.quoted ? text : text.substr(0, text.find('\n')),
                                  line.quoted ? "\t\r\n" : "\t"));
    RowTile tile(config_.delimiter()[0], 0);
    if (!tile.find(text.data(), static_cast<int64_t>(text.size()), line.quoted)) {
      return absl::DataLossError("the file changed while it was being read");
    }
    std::vector<std::string> names;
    for (int64_t cell = 0; cell < tile.cells(0); ++cell) names.emplace_back(tile.cell(cell));
    if (absl::EndsWith(names.back(), "\r")) names.back().pop_back();
    for (const QuoteFault& fault : tile.faults_of(0)) {
      return absl::DataLossError(
          absl::StrCat("the name of column ", fault.cell + 1, ": ", text_behind_quote(fault)));
    }
    return names;
  }

  // Another format, or a compressed file, is no column that is missing; and its bytes would be
  // printed. `allowed`: control characters of text.
  absl::Status check_is_text(absl::string_view line, absl::string_view allowed) const {
    if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (!absl::ascii_iscntrl(c) || absl::StrContains(allowed, c) || c == config_.delimiter()[0]) {
        continue;
      }
      return absl::DataLossError(absl::StrFormat(
          "this is no text: byte %d of its first line is 0x%02x; check the format, and unpack what "
          "is compressed",
          i, static_cast<unsigned char>(c)));
    }
    return absl::OkStatus();
  }

  absl::Status set_columns(const std::vector<std::string>& names) {
    const auto& hexadecimal = config_.hexadecimal();
    for (const std::string& name : names) {
      CsvColumn column;
      column.column = {.name = name, .type = ValueType::kText, .type_name = "text"};
      if (!config_.list_delimiter().empty()) {
        column.format.list_delimiter = config_.list_delimiter()[0];
      }
      if (config_.header() == CsvConfig::TYPED) {
        ASSIGN_OR_RETURN(column, parse_typed_column(name));
      } else if (std::find(hexadecimal.begin(), hexadecimal.end(), name) != hexadecimal.end()) {
        column.format.hexadecimal = true;
        column.column.type = ValueType::kUint64;
        column.column.type_name = "hexadecimal";
      }
      columns_.push_back(std::move(column.column));
      formats_.push_back(column.format);
    }
    formats_.back().is_last = true;
    // A misspelled name would leave its column as text without an error.
    for (const std::string& name : hexadecimal) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "csv: no column \"", name, "\" to be hexadecimal", did_you_mean(name, names)));
    }
    return absl::OkStatus();
  }

  // The place of a bad line, for messages.
  std::string place(int64_t line) const { return absl::StrCat(path_, ", line ", line); }

  absl::Status parse(const LineGroup& group, const RowRange& range,
                     absl::Span<const ColumnRequest> requests, std::vector<CellParser>& parsers,
                     BadRows& bad) {
    RowTile& tile = *tile_;
    row_lines_.clear();
    int64_t line = group.first_line, row = -range.begin;  // relative to the range
    for (int64_t at = 0; at < buffer_.size() && row < range.count; at += tile.source_bytes()) {
      if (!tile.find(buffer_.data() + at, buffer_.size() - at, group.quoted)) break;
      const int64_t first_row = std::max<int64_t>(row, 0);
      RETURN_IF_ERROR(find_rows(tile, range.count, line, requests, &row, bad));
      for (size_t i = 0; i < parsers.size(); ++i) {
        const int64_t column = requests[i].column;
        const OnBadCell on_bad = [&](int64_t r, absl::string_view what) {
          return bad.add(first_row + r, bad_cell(row_lines_[first_row + r], column, what));
        };
        RETURN_IF_ERROR(
            parsers[i].append({tile.text(), tile.ends(), first_cells_}, column, on_bad));
      }
      line += tile.source_lines();
    }
    if (row >= range.count) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(path_, " changed while it was being read"));
  }

  // Sets first_cells_ for the rows of a tile that lie in the range, appends to row_lines_ for them,
  // and sets `row` to the number of the next one. `line`: the number of the tile's first line.
  absl::Status find_rows(const RowTile& tile, int64_t row_count, int64_t line,
                         absl::Span<const ColumnRequest> requests, int64_t* row, BadRows& bad) {
    first_cells_.clear();
    for (int64_t l = 0; l < tile.rows(); ++l) {
      if (tile.is_blank(l)) continue;
      const int64_t r = (*row)++;
      if (r < 0) continue;
      if (r >= row_count) break;
      row_lines_.push_back(line + tile.line(l));
      const int64_t first = tile.first_cell(l), cells = tile.cells(l);
      if (cells == static_cast<int64_t>(columns_.size())) {
        first_cells_.push_back(static_cast<uint32_t>(first));
        RETURN_IF_ERROR(add_faults(tile, l, line, requests, r, bad));
      } else {
        first_cells_.push_back(tile.no_cells());
        RETURN_IF_ERROR(bad.add(r, wrong_cells(tile, l)));
      }
    }
    return absl::OkStatus();
  }

  // Adds the faults in read columns of row `l` of the tile, row `r`.
  absl::Status add_faults(const RowTile& tile, int64_t l, int64_t line,
                          absl::Span<const ColumnRequest> requests, int64_t r, BadRows& bad) {
    for (const QuoteFault& fault : tile.faults_of(l)) {
      const int64_t column = fault.cell - tile.first_cell(l);
      const bool is_read =
          std::any_of(requests.begin(), requests.end(),
                      [&](const ColumnRequest& request) { return request.column == column; });
      if (!is_read) continue;
      const int64_t begin = row_lines_.back(), end = line + fault.line;
      const std::string where = end == begin ? "" : absl::StrCat(" in line ", end);
      RETURN_IF_ERROR(bad.add(r, bad_cell(begin, column, text_behind_quote(fault, where))));
    }
    return absl::OkStatus();
  }

  absl::Status bad_cell(int64_t line, int64_t column, absl::string_view what) const {
    return absl::DataLossError(
        absl::StrCat(place(line), ", column ", in_message(columns_[column].name), ": ", what));
  }

  // The error of row `l` of a tile, the last one of row_lines_.
  absl::Status wrong_cells(const RowTile& tile, int64_t l) const {
    const absl::Span<const QuoteFault> faults = tile.faults_of(l);
    const absl::string_view text(tile.text() + tile.begin(l), tile.end(l) - tile.begin(l));
    std::string hint;
    if (!faults.empty()) {
      hint = absl::StrCat("; ", text_behind_quote(faults[0]));
    } else if (absl::StrContains(text, '\n')) {
      hint = absl::StrCat("; its quoted cells take several lines", kLiteralQuotesAdvice);
    } else if (tile.cells(l) == 1) {
      hint = delimiter_hint(text);
    }
    return absl::DataLossError(absl::StrCat(place(row_lines_.back()), ": ", tile.cells(l),
                                            " cells where ", columns_.size(), " are due", hint));
  }

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const CsvConfig config_;
  std::shared_ptr<const CsvLayout> layout_;  // shared with readers of the same file
  std::vector<FileColumn> columns_;
  std::vector<CellFormat> formats_;  // of each column
  std::vector<int64_t> group_rows_;

  // State of the group and the tile that are being read.
  LineBuffer buffer_;
  std::optional<RowTile> tile_;
  std::vector<uint32_t> first_cells_;
  std::vector<int64_t> row_lines_;  // of all rows of the range so far
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_csv(FileSystem& files, const std::string& path,
                                                     const CsvConfig& config,
                                                     std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto reader = std::make_unique<CsvReader>(path, std::move(file), config);
  RETURN_IF_ERROR(reader->open(std::move(layout)),
                  absl::StrCat("cannot open ", path, " as delimited text"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(csv, "delimited text",
                              {.format = DataConfig::CSV,
                               .extensions = {".csv", ".tsv"},
                               .open = [](FileSystem& files, const std::string& path,
                                          const DataConfig& config, auto layout) {
                                 return open_csv(files, path, config.csv(), std::move(layout));
                               }});

}  // namespace millrace
