#include "checkpoint/bank/rows_file.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/format/safetensors_file.h"
#include "io/feature/text_ids.h"
#include "io/file_reader.h"
#include "io/file_start.h"

namespace millrace {
namespace {

// Returns an error of the configuration.
absl::Status wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }
// Returns an error of the file's content.
absl::Status bad(absl::string_view what) { return absl::DataLossError(what); }

std::vector<std::string> weight_names(const RowsFileConfig& config) {
  if (config.weights().empty()) return {"weights"};
  return {config.weights().begin(), config.weights().end()};
}

RowsFileConfig::Layout layout_of(const std::string& path, const RowsFileConfig& config) {
  if (config.layout() != RowsFileConfig::AUTO) return config.layout();
  const std::string name = absl::AsciiStrToLower(base_name(path));
  if (absl::EndsWith(name, ".safetensors")) return RowsFileConfig::SAFETENSORS;
  for (const char* extension : {".parquet", ".pq", ".orc"}) {
    if (absl::EndsWith(name, extension)) return RowsFileConfig::COLUMNS;
  }
  return RowsFileConfig::TEXT;
}

// Returns "row 3" or, for text files, "line 4": the place of a row.
using Place = std::string (*)(int64_t);
std::string row_place(int64_t row) { return absl::StrCat("row ", row); }

absl::Status check_numbers(const TableRows& rows, Place place) {
  for (size_t i = 0; i < rows.weights.size(); ++i) {
    if (std::isfinite(rows.weights[i])) continue;
    return bad(absl::StrCat(place(static_cast<int64_t>(i) / rows.dim), ": number ",
                            static_cast<int64_t>(i) % rows.dim, " is not finite"));
  }
  return absl::OkStatus();
}

// `places`: the place of each row.
absl::Status check_ids(const TableRows& rows, absl::string_view unit,
                       const std::vector<int64_t>& places) {
  const auto place = [&](size_t row) {
    return absl::StrCat(unit, " ", places.empty() ? static_cast<int64_t>(row) : places[row]);
  };
  absl::flat_hash_map<int64_t, size_t> first;
  first.reserve(rows.ids.size());
  for (size_t row = 0; row < rows.ids.size(); ++row) {
    const auto [before, is_new] = first.try_emplace(rows.ids[row], row);
    if (is_new) continue;
    return bad(
        absl::StrCat(place(row), ": id ", rows.ids[row], " was there in ", place(before->second)));
  }
  return absl::OkStatus();
}

// Returns true if a file whose rows have `columns` numbers fits the table: with the columns that
// the model adds, or without them.
bool fits(const RowsFileTable& table, int64_t columns) {
  return columns == table.dim || columns == table.dim - table.added_columns;
}

// Returns the numbers of columns that fits() accepts, for messages.
std::string due(const RowsFileTable& table) {
  if (table.added_columns == 0) return absl::StrCat("the table has ", table.dim);
  return absl::StrCat("the table takes ", table.dim - table.added_columns, ", or ", table.dim,
                      " with what the model adds");
}

// Checks that a row has `columns` numbers, as the rows before it. Errors: DataLoss.
absl::Status check_width(const RowsFileTable& table, int64_t columns, int64_t numbers) {
  if (numbers == columns) return absl::OkStatus();
  return bad(fits(table, numbers) ? absl::StrCat(numbers, " numbers; rows before it have ", columns)
                                  : absl::StrCat(numbers, " numbers; ", due(table)));
}

// Sets the id of each row from its text, and drops each row whose text has no id. `places`: the
// place of each row, or empty. `first` names the place of a text that is no integer.
absl::Status take_text_ids(FileSystem& files, const RowsFileConfig& config,
                           const RowsFileTable& table, const StringValues& texts,
                           absl::string_view first, std::vector<int64_t>* places, TableRows* rows) {
  ASSIGN_OR_RETURN(const std::optional<TextIds> text_ids,
                   TextIds::create(table.features, config.table(), files));
  if (!text_ids.has_value()) {
    return bad(absl::StrCat(
        first, " is no 64-bit id, and no feature of table ", config.table(),
        " makes ids of text (transform hash, vocabulary or a registered one of text)"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> found, text_ids->find(texts));
  // Compacts in place: `kept` is at most `row`, so no row is overwritten before it is copied.
  size_t kept = 0;
  for (size_t row = 0; row < found.size(); ++row) {
    if (!found[row].has_value()) continue;
    rows->ids.push_back(*found[row]);
    std::copy_n(rows->weights.begin() + static_cast<int64_t>(row) * rows->dim, rows->dim,
                rows->weights.begin() + static_cast<int64_t>(kept) * rows->dim);
    if (!places->empty()) (*places)[kept] = (*places)[row];
    ++kept;
  }
  rows->weights.resize(kept * rows->dim);
  if (!places->empty()) places->resize(kept);
  if (kept < found.size()) {
    MILLRACE_LOG(INFO) << found.size() - kept << " of " << found.size()
                       << " rows are omitted: the vocabulary of feature " << text_ids->feature()
                       << " lacks their words";
  }
  return absl::OkStatus();
}

absl::Status check_tensor(const TensorInfo& tensor, TensorType type,
                          const std::vector<int64_t>& shape) {
  if (tensor.type == type && tensor.shape == shape) return absl::OkStatus();
  return bad(absl::StrCat("tensor ", tensor.name, " is ", tensor_type_name(tensor.type), " [",
                          absl::StrJoin(tensor.shape, ", "), "]; must be ", tensor_type_name(type),
                          " [", absl::StrJoin(shape, ", "), "]"));
}

absl::StatusOr<TableRows> read_safetensors(FileSystem& files, const std::string& path,
                                           const RowsFileConfig& config,
                                           const RowsFileTable& table) {
  const std::vector<std::string> names = weight_names(config);
  if (names.size() > 1) return wrong("a safetensors file has one tensor of weights");
  ASSIGN_OR_RETURN(const auto reader, SafetensorsReader::open(files, path));
  ASSIGN_OR_RETURN(const TensorInfo* ids, reader->find(config.ids()));
  ASSIGN_OR_RETURN(const TensorInfo* weights, reader->find(names[0]));
  const int64_t count = ids->shape.empty() ? 0 : ids->shape[0];
  RETURN_IF_ERROR(check_tensor(*ids, TensorType::kI64, {count}));
  const bool own = weights->shape.size() == 2 && fits(table, weights->shape[1]);
  const int64_t dim = own ? weights->shape[1] : table.dim - table.added_columns;
  RETURN_IF_ERROR(check_tensor(*weights, TensorType::kF32, {count, dim}));
  TableRows rows;
  rows.dim = dim;
  rows.ids.resize(count);
  rows.weights.resize(count * dim);
  RETURN_IF_ERROR(reader->read(*ids, absl::MakeSpan(rows.ids)));
  RETURN_IF_ERROR(reader->read(*weights, absl::MakeSpan(rows.weights)));
  RETURN_IF_ERROR(check_numbers(rows, row_place));
  RETURN_IF_ERROR(check_ids(rows, "row", {}));
  return rows;
}

// Reads Parquet and ORC files.
class ColumnRows {
 public:
  ColumnRows(FileReader& file, const RowsFileTable& table) : file_(file), table_(table) {}

  absl::StatusOr<TableRows> run(FileSystem& files, const RowsFileConfig& config) {
    RETURN_IF_ERROR(request(config.ids(), /*ids=*/true));
    for (const std::string& name : weight_names(config)) {
      RETURN_IF_ERROR(request(name, /*ids=*/false));
    }
    const auto columns = static_cast<int64_t>(requests_.size()) - 1;
    if (columns != 1 && !fits(table_, columns)) {
      return wrong(absl::StrCat(columns, " columns of weights, not one of lists; ", due(table_)));
    }
    for (size_t group = 0; group < file_.group_rows().size(); ++group) {
      RETURN_IF_ERROR(read_group(static_cast<int64_t>(group)));
    }
    if (rows_.dim == 0) rows_.dim = table_.dim;
    RETURN_IF_ERROR(check_numbers(rows_, row_place));
    std::vector<int64_t> places;
    if (texts_.size() > 0) {
      for (int64_t row = 0; row < texts_.size(); ++row) places.push_back(row);
      const std::string first = absl::StrCat("row 0: \"", texts_[0].substr(0, 40), "\"");
      RETURN_IF_ERROR(take_text_ids(files, config, table_, texts_, first, &places, &rows_));
    }
    RETURN_IF_ERROR(check_ids(rows_, "row", places));
    return std::move(rows_);
  }

 private:
  absl::Status request(const std::string& name, bool ids) {
    std::vector<std::string> names;
    for (const FileColumn& column : file_.columns()) names.push_back(column.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return wrong(absl::StrCat("no column \"", name, "\"", did_you_mean(name, names)));
    }
    const FileColumn& column = file_.columns()[found - names.begin()];
    const bool may_be_ids = column.type == ValueType::kInt64 || column.type == ValueType::kUint64 ||
                            column.type == ValueType::kString;
    if (!column.supported || (ids ? !may_be_ids : column.type != ValueType::kDouble)) {
      return wrong(absl::StrCat("column ", name, " is ", column.type_name, "; must be of ",
                                ids ? "integers or text" : "floating-point numbers"));
    }
    requests_.push_back({found - names.begin(), column.type});
    return absl::OkStatus();
  }

  absl::Status read_group(int64_t group) {
    const int64_t count = file_.group_rows()[group];
    ASSIGN_OR_RETURN(const std::vector<Column> columns,
                     file_.read({.group = group, .begin = 0, .count = count}, requests_));
    for (int64_t row = 0; row < count; ++row) {
      const std::string place = row_place(static_cast<int64_t>(read_++));
      const int64_t at = columns[0].begin(row);
      if (columns[0].end(row) != at + 1) {
        return bad(absl::StrCat(place, ": ", columns[0].end(row) - at, " ids; must be one"));
      }
      if (columns[0].type == ValueType::kString) {
        texts_.push_back(columns[0].strings[at]);
      } else {
        rows_.ids.push_back(columns[0].int64s[at]);
      }
      const size_t before = rows_.weights.size();
      for (size_t c = 1; c < columns.size(); ++c) {
        for (int64_t i = columns[c].begin(row); i < columns[c].end(row); ++i) {
          rows_.weights.push_back(static_cast<float>(columns[c].doubles[i]));
        }
      }
      const auto numbers = static_cast<int64_t>(rows_.weights.size() - before);
      // The configuration may allow two widths. The first row decides, and all rows must agree.
      if (rows_.dim == 0 && fits(table_, numbers)) rows_.dim = numbers;
      RETURN_IF_ERROR(check_width(table_, rows_.dim, numbers), place);
    }
    return absl::OkStatus();
  }

  FileReader& file_;
  const RowsFileTable& table_;
  std::vector<ColumnRequest> requests_;
  int64_t read_ = 0;    // rows
  StringValues texts_;  // ids that are text; then rows_.ids is still empty
  TableRows rows_;      // dim 0: no row yet
};

class TextRows {
 public:
  TextRows(const RowsFileConfig& config, const RowsFileTable& table)
      : config_(config), table_(table), delimiter_(config.delimiter()) {}

  absl::StatusOr<TableRows> run(FileSystem& files, absl::string_view text) {
    detect_layout(text);
    int64_t line = 0;
    for (absl::string_view content : absl::StrSplit(text, '\n')) {
      ++line;
      content = absl::StripAsciiWhitespace(content);
      if (content.empty()) continue;
      RETURN_IF_ERROR(take(content, line), absl::StrCat("line ", line));
    }
    if (announced_ >= 0 && announced_ != static_cast<int64_t>(lines_.size())) {
      return bad(absl::StrCat("line 1 says ", announced_, " rows; there are ", lines_.size()));
    }
    if (!first_text_.empty()) {
      RETURN_IF_ERROR(take_text_ids(files, config_, table_, texts_, first_text_, &lines_, &rows_));
    }
    RETURN_IF_ERROR(check_ids(rows_, "line", lines_));
    return std::move(rows_);
  }

 private:
  // Determines the number of columns, from the first two lines since the first may be a header, and
  // the first id that is no integer. Of later lines reads only the ids.
  void detect_layout(absl::string_view text) {
    int64_t line = 0, rows = 0;
    rows_.dim = table_.dim;
    for (absl::string_view content : absl::StrSplit(text, '\n')) {
      ++line;
      content = absl::StripAsciiWhitespace(content);
      if (content.empty()) continue;
      if (++rows <= 2) {
        const auto numbers = static_cast<int64_t>(split(content).size()) - 1;
        if (fits(table_, numbers)) rows_.dim = numbers;
      }
      const absl::string_view word = first_word(content);
      int64_t id = 0;
      if (first_text_.empty() && !absl::SimpleAtoi(word, &id)) {
        first_text_ = absl::StrCat("line ", line, ": \"", word.substr(0, 40), "\"");
      }
      if (rows >= 2 && !first_text_.empty()) return;
    }
  }

  // Returns split(line)[0].
  absl::string_view first_word(absl::string_view line) const {
    if (delimiter_.empty()) return line.substr(0, line.find_first_of(" \t"));
    return absl::StripAsciiWhitespace(line.substr(0, line.find(delimiter_)));
  }

  std::vector<absl::string_view> split(absl::string_view line) const {
    if (delimiter_.empty()) return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    std::vector<absl::string_view> words = absl::StrSplit(line, delimiter_);
    for (absl::string_view& word : words) word = absl::StripAsciiWhitespace(word);
    return words;
  }

  absl::Status take(absl::string_view content, int64_t line) {
    const std::vector<absl::string_view> words = split(content);
    int64_t id = 0, columns = 0;
    // If the table has one column, a header cannot be told from a row.
    if (line == 1 && words.size() == 2 && rows_.dim != 1 && absl::SimpleAtoi(words[0], &id) &&
        absl::SimpleAtoi(words[1], &columns)) {
      announced_ = id;
      if (columns == rows_.dim) return absl::OkStatus();
      return bad(absl::StrCat(columns, " columns; ", due(table_)));
    }
    RETURN_IF_ERROR(check_width(table_, rows_.dim, static_cast<int64_t>(words.size()) - 1));
    if (!first_text_.empty()) {
      texts_.push_back(words[0]);
    } else if (absl::SimpleAtoi(words[0], &id)) {
      rows_.ids.push_back(id);
    }
    lines_.push_back(line);
    for (size_t i = 1; i < words.size(); ++i) {
      float value = 0;
      if (!absl::SimpleAtof(words[i], &value) || !std::isfinite(value)) {
        return bad(absl::StrCat("\"", words[i].substr(0, 40), "\" is no finite number"));
      }
      rows_.weights.push_back(value);
    }
    return absl::OkStatus();
  }

  const RowsFileConfig& config_;
  const RowsFileTable& table_;
  const std::string delimiter_;
  std::string first_text_;  // the first id that is no integer, and where; "": all are integers
  StringValues texts_;      // ids, if they are texts
  TableRows rows_;
  std::vector<int64_t> lines_;
  int64_t announced_ = -1;  // number of rows that the first line announces
};

absl::StatusOr<TableRows> read_any(FileSystem& files, const std::string& path,
                                   const RowsFileConfig& config, const RowsFileTable& table) {
  switch (layout_of(path, config)) {
    case RowsFileConfig::SAFETENSORS: return read_safetensors(files, path, config, table);
    case RowsFileConfig::COLUMNS: {
      ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> file,
                       open_file(files, path, DataConfig()));
      return ColumnRows(*file, table).run(files, config);
    }
    default: break;
  }
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  const absl::string_view head = absl::string_view(text).substr(0, kTextStartBytes);
  ASSIGN_OR_RETURN(const TextStart start, find_text_start(head, /*separator_line=*/false));
  return TextRows(config, table).run(files, absl::string_view(text).substr(start.begin));
}

}  // namespace

absl::StatusOr<TableRows> read_rows_file(FileSystem& files, const std::string& path,
                                         const RowsFileConfig& config, const RowsFileTable& table) {
  absl::StatusOr<TableRows> rows = read_any(files, path, config, table);
  // Readers name the file where they can.
  if (!rows.ok() && !absl::StrContains(rows.status().message(), path)) {
    return annotate(rows.status(), path);
  }
  return rows;
}

}  // namespace millrace
