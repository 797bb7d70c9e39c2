#include "io/look/file_guess.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "io/file_reader.h"
#include "io/file_start.h"
#include "io/format/cell_index.h"
#include "io/format/row_tile.h"
#include "io/look/cell_text.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr int64_t kHeadBytes = 1 << 20;
constexpr int64_t kMaxHeadBytes = 16 << 20;  // of a longest line, as kMaxLineBytes
constexpr size_t kHeaderRows = 100;          // that tell whether the first row is a header

bool is_text(absl::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t' && c != '\n' &&
           c != '\r';
  });
}

// Returns the format of the first bytes; AUTO if it is unknown.
DataConfig::Format format_of_content(absl::string_view head) {
  if (absl::StartsWith(head, "ORC")) return DataConfig::ORC;
  if (absl::StartsWith(head, "PAR1")) return DataConfig::PARQUET;
  const absl::string_view line = head.substr(0, head.find('\n'));
  const bool has_delimiter = line.find_first_of("\t,;|") != absl::string_view::npos;
  return is_text(head) && has_delimiter ? DataConfig::CSV : DataConfig::AUTO;
}

absl::StatusOr<std::string> read_head(ReadableFile& file, int64_t limit) {
  std::string head(std::min(limit, file.size_bytes()), '\0');
  ASSIGN_OR_RETURN(const int64_t count,
                   file.read_at(0, static_cast<int64_t>(head.size()), head.data()));
  head.resize(count);
  return head;
}

// Text without blank lines before the first line.
absl::string_view first_line_and_rest(absl::string_view text) {
  while (absl::StartsWith(text, "\n") || absl::StartsWith(text, "\r")) text.remove_prefix(1);
  return text;
}

// The usual delimiter that occurs most often in the first row outside of quoted cells; a comma if
// none does. `quoted`: a quote begins a quoted cell at the begin of the row and behind any usual
// delimiter.
char find_delimiter(absl::string_view text, bool quoted) {
  constexpr absl::string_view kUsual = "\t,;|";
  std::array<int64_t, kUsual.size()> counts = {};
  bool in_quotes = false, cell_begins = quoted;
  for (const char c : text) {
    if (c == '\n' && !in_quotes) break;
    const size_t delimiter = in_quotes ? absl::string_view::npos : kUsual.find(c);
    if (c == '"' && (in_quotes || cell_begins)) in_quotes = !in_quotes;
    // Behind the closing quote another one continues the cell: the two stand for a quote.
    cell_begins = quoted && (delimiter != absl::string_view::npos || (c == '"' && !in_quotes));
    if (delimiter != absl::string_view::npos) ++counts[delimiter];
  }
  if (in_quotes) return find_delimiter(text, false);
  const auto most = std::max_element(counts.begin(), counts.end());
  return *most == 0 ? ',' : kUsual[most - counts.begin()];
}

// Returns true if the row at `offset` ends, within kMaxHeadBytes, where cells may be quoted.
absl::StatusOr<bool> row_ends(ReadableFile& file, int64_t offset, char delimiter) {
  const int64_t left = file.size_bytes() - offset;
  for (int64_t bytes = kHeadBytes;; bytes *= 2) {
    const int64_t wanted = std::min({left, bytes, kMaxHeadBytes});
    std::string text(wanted, '\0');
    ASSIGN_OR_RETURN(const int64_t count, file.read_at(offset, wanted, text.data()));
    text.resize(count);
    if (wanted == left) text += '\n';  // the last line may have none
    const auto size = static_cast<int64_t>(text.size());
    text.append(kTextPadding, '\0');
    RowTile tile(delimiter, 0);
    if (tile.find(text.data(), size, true)) return true;
    if (wanted == left || wanted == kMaxHeadBytes || count < wanted) return false;
  }
}

// Returns true if most cells that begin with a quote are no quoted ones: text follows the closing
// quote, or there is none. `text` ends at the byte `end` of the file, with a line feed more.
absl::StatusOr<bool> has_literal_quotes(ReadableFile& file, absl::string_view text, int64_t end,
                                        char delimiter) {
  RowTile tile(delimiter, 0);
  int64_t quoted = 0, faults = 0;
  while (!text.empty() && tile.find(text.data(), static_cast<int64_t>(text.size()), true)) {
    quoted += tile.quoted_cells();
    faults += tile.fault_count();
    text.remove_prefix(tile.source_bytes());
  }
  // A quoted cell is open where the text ends, behind which a line feed was put.
  if (!text.empty()) {
    ++quoted;
    const int64_t row = end + 1 - static_cast<int64_t>(text.size());
    ASSIGN_OR_RETURN(const bool ends, row_ends(file, row, delimiter));
    faults += ends ? 0 : 1;
  }
  return 2 * faults > quoted;
}

using Row = std::vector<std::string>;

// The cells of the first kHeaderRows rows, or of the rows of one tile if these are fewer; of the
// first row at least.
std::vector<Row> first_rows(absl::string_view text, char delimiter, bool quoted) {
  if (text.empty()) return {{""}};
  RowTile tile(delimiter, 0);
  if (!tile.find(text.data(), static_cast<int64_t>(text.size()), quoted)) {
    tile.find(text.data(), static_cast<int64_t>(text.size()), false);
  }
  std::vector<Row> rows;
  for (int64_t row = 0; row < tile.rows() && rows.size() < kHeaderRows; ++row) {
    if (row > 0 && tile.is_blank(row)) continue;
    Row& cells = rows.emplace_back();
    const int64_t first = tile.first_cell(row);
    for (int64_t cell = 0; cell < tile.cells(row); ++cell) {
      cells.emplace_back(tile.cell(first + cell));
    }
    if (absl::EndsWith(cells.back(), "\r")) cells.back().pop_back();
  }
  return rows;
}

bool is_typed(const Row& cells) {
  return std::all_of(cells.begin(), cells.end(), [](absl::string_view cell) {
    const size_t colon = cell.rfind(':');
    if (colon == 0 || colon == absl::string_view::npos) return false;
    const absl::string_view type = cell.substr(colon + 1);
    return type == "token" || type == "token_seq" || type == "float" || type == "float_seq";
  });
}

// A number, also with a decimal comma, a boolean or a date: cells that are seldom names.
bool is_number_or_alike(absl::string_view cell) {
  double number = 0;
  bool has_comma = false;
  return absl::SimpleAtod(cell, &number) || parse_with_comma(cell, &has_comma) ||
         parse_boolean(cell).has_value() || begins_with_date(cell);
}

bool is_integer(absl::string_view cell) {
  int64_t number = 0;
  return absl::SimpleAtoi(cell, &number);
}

// True if the column has such a cell below the first row, and no others but missing ones.
template <typename Predicate>
bool holds(const std::vector<Row>& rows, size_t column, Predicate is_one) {
  bool is_found = false;
  for (size_t row = 1; row < rows.size(); ++row) {
    if (column >= rows[row].size()) continue;
    const std::string& cell = rows[row][column];
    if (cell.empty() || is_missing_text(cell)) continue;
    if (!is_one(cell)) return false;
    is_found = true;
  }
  return is_found;
}

bool is_name(absl::string_view cell) { return !cell.empty() && !is_missing_text(cell); }

// True if a column has a name in the first row and nothing but numbers and the like below.
bool has_name_above_numbers(const std::vector<Row>& rows) {
  for (size_t column = 0; column < rows[0].size(); ++column) {
    if (is_name(rows[0][column]) && holds(rows, column, is_number_or_alike)) return true;
  }
  return false;
}

// True if the first column has no name and integers below, as the index that pandas writes, and all
// others have names.
bool has_index(const std::vector<Row>& rows) {
  const Row& names = rows[0];
  return names.size() > 1 && names[0].empty() &&
         std::all_of(names.begin() + 1, names.end(), is_name) && holds(rows, 0, is_integer);
}

// Empty or equal names form a header only if the rows below look different.
bool is_header(const std::vector<Row>& rows) {
  absl::flat_hash_set<absl::string_view> seen;
  bool are_names = true, are_distinct = true;
  for (const std::string& cell : rows[0]) {
    if (is_number_or_alike(cell)) return false;
    are_names = are_names && !cell.empty();
    are_distinct = seen.insert(cell).second && are_distinct;
  }
  return (are_distinct && (are_names || has_index(rows))) || has_name_above_numbers(rows);
}

// `head`: the start of the file.
absl::Status guess_csv(ReadableFile& file, std::string head, const TextStart& start,
                       CsvConfig* csv) {
  const auto end = static_cast<int64_t>(head.size());
  head += '\n';  // the last line has none, or is cut off
  const size_t size = head.size();
  head.append(kTextPadding, '\0');
  const absl::string_view text =
      first_line_and_rest(absl::string_view(head.data(), size).substr(start.begin));
  const char delimiter = start.separator != '\0' ? start.separator : find_delimiter(text, true);
  if (delimiter != ',') csv->set_delimiter(std::string(1, delimiter));
  ASSIGN_OR_RETURN(const bool literal_quotes, has_literal_quotes(file, text, end, delimiter));
  if (literal_quotes) csv->set_literal_quotes(true);
  const std::vector<Row> rows = first_rows(text, delimiter, !literal_quotes);
  if (is_typed(rows[0])) {
    csv->set_header(CsvConfig::TYPED);
  } else if (!is_header(rows)) {
    for (size_t i = 1; i <= rows[0].size(); ++i) csv->add_column(absl::StrCat("column_", i));
  }
  return absl::OkStatus();
}

// Returns true for text that begins with an object or a list of objects.
bool looks_like_json(absl::string_view head) {
  head = absl::StripLeadingAsciiWhitespace(head);
  if (absl::ConsumePrefix(&head, "[")) head = absl::StripLeadingAsciiWhitespace(head);
  if (!absl::ConsumePrefix(&head, "{")) return false;
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(head), "\"");
}

// The number of fields of `label field:index:value ...`; 0 of `label index:value ...`.
int64_t count_fields(absl::string_view head) {
  int64_t fields = 0;
  for (const absl::string_view line : absl::StrSplit(head, '\n')) {
    for (const absl::string_view pair : absl::StrSplit(line, ' ')) {
      const std::vector<absl::string_view> parts = absl::StrSplit(pair, ':');
      int64_t field = 0;
      if (parts.size() == 3 && absl::SimpleAtoi(parts[0], &field) && field >= 0) {
        fields = std::max(fields, field + 1);
      }
    }
  }
  return std::min<int64_t>(fields, 4096);
}

}  // namespace

absl::StatusOr<DataConfig> guess_file(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  if (info.is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a directory; name the files in it, such as ", join_path(path, "*.parquet")));
  }
  RETURN_IF_ERROR(check_rereadable(path, info));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.open(path));
  ASSIGN_OR_RETURN(std::string head, read_head(*file, kHeadBytes));
  if (head.empty()) return absl::DataLossError(absl::StrCat(path, " is empty"));
  DataConfig config;
  std::optional<DataConfig::Format> format = format_of_extension(path);
  const absl::StatusOr<TextStart> start =
      find_text_start(absl::string_view(head).substr(0, kTextStartBytes), true);
  if (!format && looks_like_json(head)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " looks like JSON, which is not read: write Parquet, ORC or delimited text, or register a "
        "reader of your own, such as examples/own_job/json_lines_reader.cc"));
  }
  if (!format) {
    format = format_of_content(head);
    if (format == DataConfig::AUTO) {
      // Other bytes may have carriage returns alone.
      if (is_text(head) || is_utf16(head) || !compression_of(head).empty()) {
        RETURN_IF_ERROR(start.status(), path);
      }
      return absl::InvalidArgumentError(
          absl::StrCat("cannot tell the format of ", path,
                       ", neither by its extension nor by its content; known: .orc .parquet .csv "
                       ".tsv .tfrecord .libsvm, and delimited text of any name"));
    }
    config.set_format(*format);
  }
  if (format == DataConfig::LIBSVM) {
    const int64_t fields = count_fields(head);
    if (fields > 0) config.mutable_libsvm()->set_fields(fields);
  }
  if (format == DataConfig::CSV) {
    RETURN_IF_ERROR(start.status(), path);
    if (!absl::StrContains(first_line_and_rest(absl::string_view(head).substr(start->begin)),
                           '\n')) {
      ASSIGN_OR_RETURN(head, read_head(*file, kMaxHeadBytes));
    }
    RETURN_IF_ERROR(guess_csv(*file, std::move(head), *start, config.mutable_csv()));
    if (config.csv().ByteSizeLong() == 0) config.clear_csv();
  }
  return config;
}

std::string format_name(const DataConfig& config, const std::string& path) {
  const DataConfig::Format format = config.format() == DataConfig::AUTO
                                        ? format_of_extension(path).value_or(DataConfig::AUTO)
                                        : config.format();
  switch (format) {
    case DataConfig::ORC: return "ORC";
    case DataConfig::PARQUET: return "Parquet";
    case DataConfig::TFRECORD: return "TFRecord";
    case DataConfig::LIBSVM: return "libsvm";
    case DataConfig::CSV: break;
    default: return "unknown";
  }
  const std::string kind = config.csv().delimiter() == "\t" ? "TSV" : "CSV";
  if (config.csv().header() == CsvConfig::TYPED) return kind + " with a typed header";
  return kind + (config.csv().column().empty() ? " with a header" : " without a header");
}

}  // namespace millrace
