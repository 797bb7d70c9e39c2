#include "io/look/data_look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/file_reader.h"
#include "io/files/file_set.h"
#include "io/files/set_column.h"
#include "io/look/cell_text.h"
#include "io/look/file_guess.h"
#include "io/look/label_look.h"
#include "io/look/sample_ranges.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr absl::string_view kCsvAdvice = "set csv {";

constexpr int64_t kPieceRows = 1024;   // of a sample that is not all rows
constexpr int64_t kChunkRows = 16384;  // read at once
constexpr int64_t kChunkCells = 4 << 20;
constexpr int64_t kTiePairs = 4 << 20;  // values kept of all columns, to compare with the label
constexpr int64_t kProvingRows = 100;   // in fewer, a column may equal the label by chance

using RowHashes = absl::flat_hash_set<uint64_t>;

// The columns that the first file has, which all others must have.
struct Schema {
  std::string path;  // of the first file
  std::vector<FileColumn> columns;
  std::vector<SetColumn> types;  // of the columns, over all files, of the training data too
  std::vector<bool> is_omitted;  // partitions that not every file has

  bool is_read(size_t i) const { return !is_omitted[i] && types[i].supported(); }
};

absl::Status check_columns(const std::string& path, const std::vector<FileColumn>& columns,
                           int64_t max_columns) {
  if (static_cast<int64_t>(columns.size()) > max_columns) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", columns.size(),
                                                   " columns, more than the ", max_columns,
                                                   " that are supported; store ids as lists"));
  }
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (size_t i = 0; i < columns.size(); ++i) {
    const auto [first, is_new] = places.emplace(columns[i].name, i);
    if (is_new) continue;
    const bool has_line = columns[i].type == ValueType::kText;  // of names
    const std::string both = absl::StrCat(path, ": columns ", first->second + 1, " and ", i + 1);
    if (columns[i].name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          both, " have no name; name them", has_line ? " in the first line" : "",
          ", or remove them: one column alone may have no name, such as the index of pandas"));
    }
    return absl::InvalidArgumentError(absl::StrCat(both, " are both named \"", columns[i].name,
                                                   "\"; give one of them another name",
                                                   has_line ? " in the first line" : ""));
  }
  return absl::OkStatus();
}

// Returns the place of each column of the schema in `columns`, the columns of the file `path`, and
// adds their types to the schema.
absl::StatusOr<std::vector<int64_t>> match_columns(const std::string& path,
                                                   const std::vector<FileColumn>& columns,
                                                   Schema& schema) {
  absl::flat_hash_map<absl::string_view, int64_t> places;
  for (size_t i = 0; i < columns.size(); ++i) {
    places.emplace(columns[i].name, static_cast<int64_t>(i));
  }
  std::vector<int64_t> matched;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const FileColumn& wanted = schema.columns[i];
    const auto found = places.find(wanted.name);
    // A directory may lack a partition that other directories have.
    if (found == places.end() && wanted.is_partition) {
      schema.is_omitted[i] = true;
      matched.push_back(-1);
      continue;
    }
    if (found == places.end()) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has no column \"", wanted.name,
                                                     "\", which ", schema.path,
                                                     " has; give files of one schema"));
    }
    const FileColumn& column = columns[found->second];
    RETURN_IF_ERROR(schema.types[i].check(path, column));
    schema.types[i].add(path, column);
    matched.push_back(found->second);
    // Removes what is matched, so that the rest are columns that the schema lacks.
    places.erase(found);
  }
  for (const auto& [name, place] : places) {
    if (columns[place].is_partition) continue;
    return absl::InvalidArgumentError(absl::StrCat(path, " has a column \"", name, "\", which ",
                                                   schema.path,
                                                   " does not have; give files of one schema"));
  }
  return matched;
}

// A file that has the schema. Closed until it is sampled: there may be more files than a process
// may have open.
struct KnownFile {
  std::string path;
  std::shared_ptr<const FileLayout> layout;  // shared with its readers
  std::vector<int64_t> places;               // of the schema's columns
};

// Reads the sample of one set of files.
class SetSampler {
 public:
  SetSampler(FileSystem& files, const LookOptions& options) : files_(files), options_(options) {}

  // Opens all files. `schema`: of the training data, or null for the schema of the first file.
  absl::Status open(const std::vector<std::string>& paths, const Schema* schema) {
    DataConfig named;
    for (const std::string& path : paths) named.add_path(path);
    ASSIGN_OR_RETURN(const std::vector<std::string> expanded, expand_paths(files_, named));
    ASSIGN_OR_RETURN(look_.config, guess_file(files_, expanded.front()));
    look_.format = format_name(look_.config, expanded.front());
    *look_.config.mutable_path() = named.path();
    if (schema != nullptr) schema_ = *schema;
    for (const std::string& path : expanded) {
      RETURN_IF_ERROR(open_one(path));
    }
    if (look_.rows > 0) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("no rows in ", expanded.front()));
  }

  const Schema& schema() const { return schema_; }

  // Omits what the schema of the evaluation data omits, so that rows can be compared.
  void omit_as(const Schema& eval) { schema_.is_omitted = eval.is_omitted; }

  // Reads the sample. Calls on_row with the hash of each row. `train`: of the training data if this
  // is evaluation data, after its sample().
  template <typename OnRow>
  absl::StatusOr<FileSetLook> sample(const std::optional<LabelRule>& label, OnRow&& on_row,
                                     const SetSampler* train = nullptr) {
    for (size_t i = 0; i < schema_.columns.size(); ++i) {
      FileColumn column = schema_.columns[i];
      column.supported = schema_.types[i].supported();
      column.type = schema_.types[i].type();
      column.type_name = types_of_set_[i].type_name();
      samplers_.emplace_back(column);
    }
    equals_label_.assign(schema_.columns.size(), true);
    // The columns share the memory of pairs, so that a wide file needs little more of it.
    const auto columns = static_cast<int64_t>(schema_.columns.size());
    label_ties_.assign(columns, LabelTie(std::clamp<int64_t>(
                                    kTiePairs / std::max<int64_t>(1, columns), 512, 16384)));
    for (size_t i = 0; i < known_.size(); ++i) {
      RETURN_IF_ERROR(sample_file(known_[i], label, look_.files[i], on_row));
      look_.sampled_rows += look_.files[i].sampled_rows;
      look_.label.rows += look_.files[i].label.rows;
      look_.label.positives += look_.files[i].label.positives;
      look_.label.others += look_.files[i].label.others;
    }
    for (size_t i = 0; i < samplers_.size(); ++i) {
      if (schema_.is_omitted[i]) continue;
      look_.columns.push_back(samplers_[i].finish(look_.rows));
      look_.columns.back().is_mixed = types_of_set_[i].is_mixed();
      ColumnLook& column = look_.columns.back();
      column.has_new_values_only = train != nullptr && column.values >= kProvingRows &&
                                   samplers_[i].is_disjoint(train->samplers_[i]);
      column.equals_label = label && equals_label(i, *label);
      if (!label || column.equals_label || column.name == label->column) continue;
      column.label_tie = label_ties_[i].reason();
      column.is_second_label = !column.label_tie.empty() && label_ties_[i].is_nested();
    }
    return std::move(look_);
  }

 private:
  absl::Status open_one(const std::string& path) {
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader,
                     open_file(files_, path, look_.config));
    const std::vector<FileColumn>& columns = reader->columns();
    RETURN_IF_ERROR(check_columns(path, columns, options_.max_columns));
    if (schema_.path.empty()) {
      schema_ = {.path = path,
                 .columns = columns,
                 .types = std::vector<SetColumn>(columns.size()),
                 .is_omitted = std::vector<bool>(columns.size())};
    }
    KnownFile file = {.path = path, .layout = reader->layout()};
    ASSIGN_OR_RETURN(file.places, match_columns(path, columns, schema_));
    types_of_set_.resize(schema_.columns.size());
    for (size_t i = 0; i < types_of_set_.size(); ++i) {
      if (file.places[i] >= 0) types_of_set_[i].add(path, columns[file.places[i]]);
    }
    const std::vector<int64_t>& groups = reader->group_rows();
    look_.files.push_back(
        {.path = path, .rows = std::accumulate(groups.begin(), groups.end(), int64_t{0})});
    look_.rows += look_.files.back().rows;
    known_.push_back(std::move(file));
    return absl::OkStatus();
  }

  std::vector<RowRange> choose_ranges(const FileReader& reader, int64_t rows) const {
    const int64_t columns = std::max<int64_t>(1, static_cast<int64_t>(schema_.columns.size()));
    const int64_t wanted =
        std::clamp<int64_t>(options_.sample_cells / columns,
                            std::min(kPieceRows, options_.sample_rows), options_.sample_rows);
    const int64_t chunk_rows = std::clamp<int64_t>(kChunkCells / columns, 256, kChunkRows);
    const int64_t piece_rows = std::min({kPieceRows, chunk_rows, options_.sample_rows});
    if (look_.rows <= wanted || rows <= piece_rows) {
      return all_ranges(reader.group_rows(), chunk_rows);
    }
    const double share = static_cast<double>(wanted) / static_cast<double>(look_.rows);
    const auto pieces =
        static_cast<int64_t>(share * static_cast<double>(rows) / static_cast<double>(piece_rows));
    return spread_ranges(reader.group_rows(), std::max<int64_t>(1, pieces), piece_rows);
  }

  template <typename OnRow>
  absl::Status sample_file(const KnownFile& file, const std::optional<LabelRule>& label,
                           FileLook& look, OnRow&& on_row) {
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader,
                     open_file(files_, file.path, look_.config, file.layout));
    std::vector<ColumnRequest> requests;
    std::vector<size_t> read;  // columns of the schema
    for (size_t i = 0; i < schema_.columns.size(); ++i) {
      if (!schema_.is_read(i)) continue;
      const ValueType type = reader->columns()[file.places[i]].type;  // of this file
      requests.push_back({.column = file.places[i],
                          .as = type == ValueType::kText ? samplers_[i].read_type() : type});
      read.push_back(i);
    }
    for (const RowRange& range : choose_ranges(*reader, look.rows)) {
      ASSIGN_OR_RETURN(const std::vector<Column> columns, reader->read(range, requests));
      std::vector<uint64_t> hashes(range.count, 0);
      for (size_t i = 0; i < read.size(); ++i) {
        samplers_[read[i]].add(columns[i], absl::MakeSpan(hashes));
        if (label && schema_.columns[read[i]].name == label->column) {
          const std::vector<std::optional<double>> labels = labels_of(columns[i], read[i], *label);
          count_labels(labels, look.label);
          compare_to_labels(labels, columns, read);
        }
      }
      for (const uint64_t hash : hashes) on_row(hash);
      look.sampled_rows += range.count;
    }
    return absl::OkStatus();
  }

  // Returns the first value of a row of column `i` of the schema; none if it is missing.
  std::optional<double> first_value(const Column& column, size_t i, int64_t row) const {
    if (column.begin(row) == column.end(row)) return std::nullopt;
    const int64_t first = column.begin(row);
    if (column.type == ValueType::kDouble && std::isnan(column.doubles[first])) return std::nullopt;
    // If the first file has no values, a column of numbers is kText in the schema.
    if (schema_.columns[i].type == ValueType::kText && column.type == ValueType::kString) {
      const absl::string_view cell = absl::StripAsciiWhitespace(column.strings[first]);
      if (cell.empty() || is_missing_text(cell)) return std::nullopt;
    }
    return number_at(column, first);
  }

  std::vector<std::optional<double>> labels_of(const Column& column, size_t i,
                                               const LabelRule& rule) const {
    std::vector<std::optional<double>> labels(column.rows);
    for (int64_t row = 0; row < column.rows; ++row) {
      labels[row] = first_value(column, i, row);
      if (labels[row]) labels[row] = rule.label_of(*labels[row]);
    }
    return labels;
  }

  static void count_labels(absl::Span<const std::optional<double>> labels, LabelCount& count) {
    for (const std::optional<double>& label : labels) {
      if (!label) continue;
      ++count.rows;
      count.positives += *label == 1;
      count.others += *label != 0 && *label != 1;
    }
  }

  // Clears equals_label_ of columns that differ from the labels in a row, and adds the rows to
  // label_ties_. `read`: the place of each column in the schema.
  void compare_to_labels(absl::Span<const std::optional<double>> labels,
                         absl::Span<const Column> columns, absl::Span<const size_t> read) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto rows = static_cast<int64_t>(labels.size());
      for (int64_t row = 0; row < rows; ++row) {
        if (!labels[row]) continue;
        const bool is_list = columns[i].end(row) - columns[i].begin(row) > 1;
        const std::optional<double> value =
            is_list ? std::nan("") : first_value(columns[i], read[i], row);
        if (value != labels[row]) equals_label_[read[i]] = false;
        if (*labels[row] == 0 || *labels[row] == 1) {
          label_ties_[read[i]].add(value, *labels[row] == 1);
        }
      }
    }
  }

  // Returns ColumnLook::equals_label of column `i` of the schema.
  bool equals_label(size_t i, const LabelRule& label) const {
    const LabelCount& count = look_.label;
    return equals_label_[i] && schema_.is_read(i) && schema_.columns[i].name != label.column &&
           count.rows >= kProvingRows && count.positives > 0 && count.positives < count.rows;
  }

  // Text that is neither a number nor a boolean becomes not-a-number.
  static double number_at(const Column& column, int64_t i) {
    switch (column.type) {
      case ValueType::kInt64: return static_cast<double>(column.int64s[i]);
      case ValueType::kUint64: return static_cast<double>(static_cast<uint64_t>(column.int64s[i]));
      case ValueType::kDouble: return column.doubles[i];
      case ValueType::kString:
      case ValueType::kText: break;
    }
    double number = 0;
    const bool is_number =
        parse_cell_number(absl::StripAsciiWhitespace(column.strings[i]), &number);
    return is_number ? number : std::numeric_limits<double>::quiet_NaN();
  }

  FileSystem& files_;
  const LookOptions& options_;
  Schema schema_;
  std::vector<SetColumn> types_of_set_;  // of the columns, over the files of this set alone
  std::vector<KnownFile> known_;
  std::vector<ColumnSampler> samplers_;
  std::vector<bool> equals_label_;    // no row of the column differs from the label so far
  std::vector<LabelTie> label_ties_;  // of the columns
  FileSetLook look_;
};

// Returns the label of the options, which must be a column, with or without blanks around its name,
// or a column with a usual name.
absl::StatusOr<std::optional<LabelRule>> choose_label(const LookOptions& options,
                                                      const Schema& schema) {
  std::vector<std::string> names;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    if (!schema.is_omitted[i]) names.push_back(schema.columns[i].name);
  }
  if (!options.label) {
    const std::optional<std::string> name = find_label_name(names);
    if (!name) return std::nullopt;
    return LabelRule{.column = *name};
  }
  LabelRule label = *options.label;
  auto found = std::find(names.begin(), names.end(), label.column);
  if (found == names.end()) {
    found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return absl::StripAsciiWhitespace(name) == label.column;
    });
  }
  if (found == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat(schema.path, " has no column \"", label.column,
                                                   "\" for the label",
                                                   did_you_mean(label.column, names)));
  }
  label.column = *found;
  return label;
}

// Returns what to do about numbers that are text for their decimal commas; else "".
std::string decimal_comma_advice(const ColumnLook& column) {
  if (column.decimal_comma.empty()) return "";
  return absl::StrCat("; write decimal points instead of commas, as in ", column.decimal_comma);
}

absl::Status check_label_column(const FileSetLook& look, const LabelRule& label) {
  for (const ColumnLook& column : look.columns) {
    if (column.name != label.column) continue;
    const std::string where =
        absl::StrCat(look.files.front().path, ", column \"", column.name, "\"");
    if (column.values == 0) return absl::OkStatus();  // no row has a label: a later check says so
    if (column.kind != ValueKind::kInteger && column.kind != ValueKind::kNumber) {
      return absl::InvalidArgumentError(absl::StrCat(where, " cannot be the label: it holds ",
                                                     column.type_name, ", and a label is a number",
                                                     decimal_comma_advice(column)));
    }
    if (column.max_length > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          where, " cannot be the label: it holds lists of up to ", column.max_length, " values"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DataLook> look_at(FileSystem& files, const LookOptions& options) {
  DataLook look;
  RowHashes train_rows;
  SetSampler train(files, options);
  RETURN_IF_ERROR(train.open(options.paths, nullptr));
  SetSampler eval(files, options);
  if (!options.eval_paths.empty()) {
    RETURN_IF_ERROR(eval.open(options.eval_paths, &train.schema()));
    train.omit_as(eval.schema());
  }
  ASSIGN_OR_RETURN(look.label, choose_label(options, train.schema()));
  ASSIGN_OR_RETURN(look.train,
                   train.sample(look.label, [&](uint64_t hash) { train_rows.insert(hash); }));
  if (options.label) {
    RETURN_IF_ERROR(check_label_column(look.train, *look.label));
  }
  if (options.eval_paths.empty()) return look;
  const auto count_leaked = [&](uint64_t hash) { look.leaked_rows += train_rows.contains(hash); };
  ASSIGN_OR_RETURN(look.eval, eval.sample(look.label, count_leaked, &train));
  return look;
}

}  // namespace

double LabelCount::rate() const {
  return rows == 0 ? 0 : static_cast<double>(positives) / static_cast<double>(rows);
}

char common_list_delimiter(const FileSetLook& look) {
  char delimiter = 0;
  for (const ColumnLook& column : look.columns) {
    if (column.list_cell.empty()) continue;
    if (delimiter != 0 && delimiter != column.list_delimiter) return 0;
    delimiter = column.list_delimiter;
  }
  for (const ColumnLook& column : look.columns) {
    if (column.list_cell.empty() && absl::StrContains(column.delimiters, delimiter)) return 0;
  }
  return delimiter;
}

absl::StatusOr<DataLook> look_at_data(FileSystem& files, const LookOptions& options) {
  absl::StatusOr<DataLook> look = look_at(files, options);
  if (look.ok() || !absl::StrContains(look.status().message(), kCsvAdvice)) return look;
  // Advice for those who have a configuration.
  return absl::Status(
      look.status().code(),
      absl::StrCat(
          absl::StrReplaceAll(look.status().message(),
                              {{kCsvAdvice, absl::StrCat("in a configuration ", kCsvAdvice)}}),
          "; this command takes none and guesses how to read the file"));
}

}  // namespace millrace
