#include "io/format/csv_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/isa/instruction_set.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/format/cell_index.h"
#include "io/format/cell_parser.h"
#include "io/format/delimiter_hint.h"
#include "io/format/text_lines.h"

namespace millrace {
namespace {

constexpr int64_t kTileBytes = 64 << 10;  // with its index, it stays in the second cache

struct CsvLayout : public FileLayout {
  int64_t size_bytes = 0;
  LineIndex lines;
};

// One column as it is written.
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
  return column;
}

// The rows of one tile, and where they are for messages.
class TileIndex {
 public:
  TileIndex(char delimiter, int64_t columns) : delimiter_(delimiter), columns_(columns) {}

  // Finds the cells of the whole lines in the first kTileBytes of `text`, or of the first line
  // where it is longer. REQUIRES: text holds a line feed.
  void find(const char* text, int64_t size) {
    int64_t bytes = std::min(size, kTileBytes);
    CellCounts counts;
    while (true) {
      places_.resize(bytes + columns_ + 16);
      lines_.resize(bytes);
      places_[0] = ~uint32_t{0};  // the place before the first cell
      counts = index_(text, bytes, delimiter_, places_.data() + 1, lines_.data());
      if (counts.lines > 0 || bytes == size) break;
      bytes = std::min(size, 2 * bytes);
    }
    text_ = text;
    line_count_ = counts.lines;
    // A row of empty cells, for those that are bad.
    no_cells_ = static_cast<uint32_t>(counts.cells) + 1;
    for (int64_t i = 0; i <= columns_; ++i) {
      places_[no_cells_ + i] = static_cast<uint32_t>(i);
    }
  }

  int64_t lines() const { return line_count_; }
  int64_t first_cell(int64_t line) const { return line == 0 ? 0 : lines_[line - 1] + 1; }
  int64_t cells(int64_t line) const { return lines_[line] + 1 - first_cell(line); }
  int64_t begin(int64_t line) const { return place(first_cell(line) - 1) + 1; }
  int64_t end(int64_t line) const { return place(lines_[line]); }
  bool is_blank(int64_t line) const {
    if (cells(line) != 1) return false;
    for (int64_t at = begin(line); at < end(line); ++at) {
      if (text_[at] != '\r') return false;
    }
    return true;
  }
  uint32_t no_cells() const { return no_cells_; }
  const uint32_t* ends() const { return places_.data() + 1; }
  const char* text() const { return text_; }

 private:
  int64_t place(int64_t cell) const { return static_cast<int32_t>(places_[cell + 1]); }

  const char delimiter_;
  const int64_t columns_;
  const IndexCells index_ = index_cells(best_instruction_set());
  const char* text_ = nullptr;
  int64_t line_count_ = 0;
  uint32_t no_cells_ = 0;
  std::vector<uint32_t> places_;  // of the ends of cells, behind that of the place before them
  std::vector<uint32_t> lines_;
};

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
    ASSIGN_OR_RETURN(layout->lines, index_lines(*file_, with_header));
    return layout;
  }

  absl::StatusOr<std::vector<std::string>> read_header() const {
    const LineGroup& line = layout_->lines.header;
    if (line.rows == 0) return absl::DataLossError("the file has no line of column names");
    LineBuffer buffer;
    RETURN_IF_ERROR(buffer.read(*file_, line));
    absl::string_view text(buffer.data(), buffer.size());
    while (absl::StartsWith(text, "\n") || absl::StartsWith(text, "\r")) text.remove_prefix(1);
    text = text.substr(0, text.find('\n'));
    if (absl::EndsWith(text, "\r")) text.remove_suffix(1);
    RETURN_IF_ERROR(check_is_text(text));
    std::vector<std::string> names = absl::StrSplit(text, config_.delimiter()[0]);
    for (const std::string& name : names) {
      if (!absl::StartsWith(name, "\"") || config_.literal_quotes()) continue;
      return absl::DataLossError(absl::StrCat("the name ", absl::CEscape(name.substr(0, 80)),
                                              " is quoted; quoted cells are not supported"));
    }
    return names;
  }

  // Another format, or a compressed file, is no column that is missing; and its bytes would be
  // printed.
  absl::Status check_is_text(absl::string_view line) const {
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (!absl::ascii_iscntrl(c) || c == '\t' || c == config_.delimiter()[0]) continue;
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
      column.format.literal_quotes = config_.literal_quotes();
      columns_.push_back(std::move(column.column));
      formats_.push_back(column.format);
    }
    formats_.back().is_last = true;
    for (const std::string& name : hexadecimal) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "csv: no column \"", name, "\" to be hexadecimal", did_you_mean(name, names)));
    }
    return absl::OkStatus();
  }

  // Where a bad line is, for messages.
  std::string place(int64_t line) const { return absl::StrCat(path_, ", line ", line); }

  absl::Status parse(const LineGroup& group, const RowRange& range,
                     absl::Span<const ColumnRequest> requests, std::vector<CellParser>& parsers,
                     BadRows& bad) {
    TileIndex& tile = *tile_;
    int64_t line = group.first_line, row = -range.begin;  // relative to the range
    for (int64_t at = 0; at < buffer_.size() && row < range.count;) {
      tile.find(buffer_.data() + at, buffer_.size() - at);
      const int64_t first_row = std::max<int64_t>(row, 0);
      RETURN_IF_ERROR(find_rows(tile, range.count, line, &row, bad));
      for (size_t i = 0; i < parsers.size(); ++i) {
        const int64_t column = requests[i].column;
        const OnBadCell on_bad = [&](int64_t r, absl::string_view what) {
          return bad.add(first_row + r,
                         absl::DataLossError(absl::StrCat(place(row_lines_[r]), ", column ",
                                                          columns_[column].name, ": ", what)));
        };
        RETURN_IF_ERROR(
            parsers[i].append({tile.text(), tile.ends(), first_cells_}, column, on_bad));
      }
      line += tile.lines();
      at += tile.end(tile.lines() - 1) + 1;
    }
    if (row >= range.count) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(path_, " changed while it was being read"));
  }

  // Sets first_cells_ and row_lines_ for the rows of a tile that lie in the range, and `row` to the
  // number of the next one. `line`: that of the tile's first line.
  absl::Status find_rows(const TileIndex& tile, int64_t row_count, int64_t line, int64_t* row,
                         BadRows& bad) {
    first_cells_.clear();
    row_lines_.clear();
    const int64_t columns = static_cast<int64_t>(columns_.size());
    for (int64_t l = 0; l < tile.lines(); ++l) {
      if (tile.is_blank(l)) continue;
      const int64_t r = (*row)++;
      if (r < 0) continue;
      if (r >= row_count) break;
      row_lines_.push_back(line + l);
      const int64_t cells = tile.cells(l);
      if (cells == columns) {
        first_cells_.push_back(static_cast<uint32_t>(tile.first_cell(l)));
        continue;
      }
      first_cells_.push_back(tile.no_cells());
      const absl::string_view text(tile.text() + tile.begin(l), tile.end(l) - tile.begin(l));
      RETURN_IF_ERROR(bad.add(r, absl::DataLossError(absl::StrCat(
                                     place(line + l), ": ", cells, " cells where ", columns,
                                     " are due", cells == 1 ? delimiter_hint(text) : ""))));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const CsvConfig config_;
  std::shared_ptr<const CsvLayout> layout_;  // shared with readers of the same file
  std::vector<FileColumn> columns_;
  std::vector<CellFormat> formats_;  // of each column
  std::vector<int64_t> group_rows_;

  // Of the group and the tile that are being read.
  LineBuffer buffer_;
  std::optional<TileIndex> tile_;
  std::vector<uint32_t> first_cells_;
  std::vector<int64_t> row_lines_;
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
