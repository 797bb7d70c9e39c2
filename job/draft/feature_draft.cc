#include "job/draft/feature_draft.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/look/cell_text.h"
#include "io/look/name_words.h"

namespace millrace {
namespace {

constexpr int64_t kFewValues = 20;   // integers with at most this number of values are categories
constexpr int64_t kManyRows = 100;   // below, unique values prove nothing
constexpr int kPeriods = 16;         // of a column of times
constexpr double kLargeNumber = 10;  // above, a dense value would dominate the others
constexpr double kMaxCount = 1e9;    // integers above are ids
constexpr size_t kNameBytes = 128;   // of a table
constexpr char kTextDates[] =
    "dates or times as text, of which later ones do not occur in training; write numbers such as "
    "20240131 to have periods of time";

bool has_word(const ColumnLook& column, std::initializer_list<absl::string_view> wanted) {
  return name_has_word(column.name, wanted);
}

bool is_named_id(const ColumnLook& column) {
  return has_word(column, {"id", "ids", "uid", "gid", "key", "code", "hash", "category"});
}

// Returns true for integers. Integers stored as floating-point numbers in some files, because some
// are null, are included.
bool holds_integers(const ColumnLook& column) {
  return column.kind == ValueKind::kInteger || (column.is_mixed && column.is_whole);
}

bool is_group(const ColumnLook& column) {
  const std::string name = absl::AsciiStrToLower(column.name);
  const bool named =
      name == "qid" ||
      (has_word(column, {"query", "session", "request", "impression", "group", "search"}) &&
       has_word(column, {"id"}));
  const int64_t rows = column.rows - column.missing_rows;
  const bool could_be = column.kind == ValueKind::kText || holds_integers(column);
  return named && column.max_length <= 1 && could_be && column.distinct > 1 &&
         rows >= 2 * column.distinct;
}

// Returns true if at least 99.9 % of the rows differ. If the sample is not all rows, every row of
// the sample must differ, since values repeat more often in all rows than in a sample.
bool is_unique_per_row(const ColumnLook& column) {
  const bool could_be = column.kind == ValueKind::kText || holds_integers(column);
  if (!could_be || column.max_length > 1 || column.rows < kManyRows) return false;
  if (!column.list_cell.empty()) return false;
  const bool is_all = column.estimated_distinct <= static_cast<double>(column.distinct);
  return is_all ? 1000 * column.distinct >= 999 * column.rows : column.distinct == column.rows;
}

// Returns boundaries of periods with equal shares of the rows.
std::vector<double> period_boundaries(const ColumnLook& column) {
  std::vector<double> boundaries;
  for (int i = 1; i < kPeriods; ++i) {
    const double boundary = column.quantile(static_cast<double>(i) / kPeriods);
    if (boundary > (boundaries.empty() ? column.min : boundaries.back())) {
      boundaries.push_back(boundary);
    }
  }
  return boundaries;
}

// Returns true for times, by type or name, and other numbers far from 0 that differ little and
// seldom repeat.
bool is_time(const ColumnLook& column) {
  if (column.quantiles.empty() || column.distinct <= kFewValues) return false;
  if (period_boundaries(column).size() < 2) return false;  // too near one another for a double
  const bool is_type = absl::StartsWith(column.type_name, "timestamp") ||
                       absl::StartsWith(column.type_name, "date") ||
                       absl::StartsWith(column.type_name, "time");
  if (is_type || (column.holds_dates && column.kind != ValueKind::kText)) return true;
  const double middle = std::abs(column.quantile(0.5));
  const double spread = column.quantile(0.99) - column.quantile(0.01);
  const bool repeats = column.rows >= 5 * column.distinct;  // as ids do
  if (middle <= 1e6 || is_named_id(column)) return false;
  return is_name_of_time(column.name) ? spread < middle : spread < middle / 4 && !repeats;
}

bool is_heavy_tailed(const ColumnLook& column) {
  const double below = column.quantile(0.5) - column.quantile(0.01);
  const double above = column.quantile(0.99) - column.quantile(0.5);
  return above > 4 * below && above > 1;
}

// Returns true for integers that are mostly small and whose most frequent value is near the
// minimum.
bool is_count(const ColumnLook& column) {
  if (!holds_integers(column) || column.distinct <= kFewValues) return false;
  if (column.max_length > 1 || column.holds_dates) return false;
  if (is_named_id(column) || column.min < -100 || column.max > kMaxCount) return false;
  if (has_word(column, {"count", "counts", "cnt", "num", "number", "n", "price", "amount", "age",
                        "size", "length", "duration", "seconds", "days", "hours", "total"})) {
    return true;
  }
  return std::abs(static_cast<double>(column.most_frequent) - column.min) <= 10 &&
         is_heavy_tailed(column);
}

bool is_categorical(const ColumnLook& column) {
  if (column.kind == ValueKind::kText) return true;
  if (holds_integers(column)) return !is_count(column);
  // Ids and dates that became numbers since some are null.
  return column.is_whole && (is_named_id(column) || column.holds_dates);
}

// Returns the reason why a column that may be meant to hold numbers is text, with a remedy; else
// "".
std::string text_note(const ColumnLook& column) {
  if (!column.decimal_comma.empty()) {
    return absl::StrCat("numbers with decimal commas, such as ", column.decimal_comma,
                        ", which are text: write decimal points to train on numbers");
  }
  if (!column.near_number.empty()) {
    return absl::StrCat("numbers with percent signs, commas or blanks, such as ",
                        column.near_number,
                        ", which are text: write digits and decimal points alone to train on "
                        "numbers");
  }
  if (column.odd_cells == 0) return "";
  return absl::StrCat("text for cells that are no numbers, ", odd_cells_text(column),
                      ": correct them to train on numbers, or name them in missing_values of a "
                      "feature with kind: DENSE");
}

std::string reason_to_leave_out(const ColumnLook& column) {
  // Only the first reason is returned, so certain reasons precede suspicions.
  if (column.kind == ValueKind::kUnreadable) {
    return absl::StrCat("nested or of a type that is not read: ", column.type_name);
  }
  if (column.equals_label) return "equals the label in every row of the sample";
  if (!column.label_tie.empty()) {
    return absl::StrCat(
        "gives the label away: ", column.label_tie,
        column.is_second_label ? "; it may be a second label, with kind: LABEL" : "");
  }
  if (column.name.empty()) return "a column without a name, such as the index that pandas writes";
  if (is_time_partition(column)) {
    return "a partition by time: its values do not come again";
  }
  if (column.values == 0 && column.not_a_number > 0) {
    return "no number in the sample: all null or not-a-number";
  }
  if (column.values == 0) return "no value in the sample: all null";
  if (column.distinct == 1 && column.missing_rows == 0 && column.max_length <= 1) {
    return "constant in the sample";
  }
  if (absl::StrContains(column.name, "{")) return "a name with { stands for a range of names";
  if (const std::string note = text_note(column); is_unique_per_row(column) && !note.empty()) {
    return note;
  }
  if (column.holds_dates && column.kind == ValueKind::kText) return kTextDates;
  if (is_unique_per_row(column) && !is_time(column)) {
    return absl::StrCat(column.distinct < column.rows ? "nearly " : "",
                        "unique per row, such as an id of the row; nothing can be learnt of it");
  }
  // The remaining reasons concern dense features; texts and integers become ids.
  if (column.kind != ValueKind::kNumber || holds_integers(column)) return "";
  if (column.max_length > 1) {
    return absl::StrCat("lists of up to ", column.max_length,
                        " numbers; a dense feature takes one number");
  }
  if (const int64_t infinite = column.not_finite - column.not_a_number; infinite > 0) {
    return absl::StrFormat(
        "%.3g %% of its values are infinite, which is bad data in training",
        100.0 * static_cast<double>(infinite) / static_cast<double>(column.values));
  }
  return "";
}

// Cuts times into periods with equal shares of the rows.
void draft_time(const ColumnLook& column, FeatureDraft& draft) {
  BucketizeTransform& bucketize = *draft.feature.add_transform()->mutable_bucketize();
  for (const double boundary : period_boundaries(column)) bucketize.add_boundary(boundary);
  draft.note = "times or the like, in periods of equal shares of the rows";
}

void draft_sparse(const ColumnLook& column, FeatureDraft& draft) {
  const bool is_whole_text = column.is_delimited_text && column.kind == ValueKind::kNumber;
  if (column.kind == ValueKind::kText || (column.is_delimited_text && !is_whole_text)) {
    draft.feature.add_transform()->mutable_hash();
    const std::string note = text_note(column);
    draft.note = note.empty() ? "text, hashed" : note;
    if (column.kind != ValueKind::kText) draft.note = "ids or categories, hashed as text";
    if (!column.long_integer.empty()) {
      draft.note = absl::StrCat("whole numbers beyond int64, such as ", column.long_integer,
                                ", hashed as text");
    }
  } else if (column.is_mixed) {
    draft.note = "ids or categories, stored as numbers in some files";
  } else if (column.kind == ValueKind::kNumber) {
    draft.feature.add_transform()->mutable_cast();
    draft.note = "ids stored as numbers";
  } else {
    draft.note = "ids or categories";
  }
  if (column.holds_dates) draft.note = "dates, as categories";
  if (column.max_length > 1) draft.note += ", in lists";
}

// Returns a number rounded to `decimals` decimal places.
double rounded(double number, int decimals) {
  return std::strtod(absl::StrFormat("%.*f", std::max(decimals, 0), number).c_str(), nullptr);
}

// Returns the transform, with four digits of the deviation and the mean to a thousandth of the
// deviation.
StandardizeTransform standardize(const ColumnLook& column) {
  StandardizeTransform transform;
  const double deviation = column.standard_deviation;
  const int decimals = 3 - static_cast<int>(std::floor(std::log10(deviation)));
  transform.set_mean(rounded(column.mean, decimals));
  transform.set_standard_deviation(
      std::strtod(absl::StrFormat("%.4g", deviation).c_str(), nullptr));
  return transform;
}

// Returns true if a network can use the numbers unchanged: nearly mean 0 and deviation 1.
bool is_nearly_standard(const ColumnLook& column) {
  return std::abs(column.mean) <= 1 && column.standard_deviation >= 0.25 &&
         column.standard_deviation <= 4;
}

void draft_dense(const ColumnLook& column, FeatureDraft& draft) {
  draft.feature.set_kind(FeatureConfig::DENSE);
  draft.feature.set_default_value(0);
  const double largest = std::max(std::abs(column.quantile(0.01)), std::abs(column.quantile(0.99)));
  const bool varies = column.standard_deviation > 0 && std::isfinite(column.standard_deviation);
  if (is_heavy_tailed(column)) {
    draft.feature.add_transform()->mutable_log1p();
    draft.note = "numbers with a long tail";
  } else if (varies && (largest > kLargeNumber || !is_nearly_standard(column))) {
    *draft.feature.add_transform()->mutable_standardize() = standardize(column);
    draft.note = "numbers, with the mean and the deviation of the sample";
  } else {
    draft.note = "numbers";
  }
}

// Returns the missing_texts of the column and, since rows outside of the sample may have others,
// all plain ones. Numbers whose only missing text is not-a-number get no other text.
std::set<std::string> texts_to_expect(const ColumnLook& column, bool as_numbers) {
  std::set<std::string> texts;
  bool compares_text = false;
  for (const auto& [text, count] : column.missing_texts) {
    const absl::string_view cell = as_numbers ? absl::StripAsciiWhitespace(text) : text;
    if (cell.empty()) continue;  // no number, whatever missing_values says
    texts.emplace(cell);
    compares_text = compares_text || !as_numbers || !is_nan_text(cell);
  }
  if (!compares_text) return texts;
  for (const absl::string_view text : plain_missing_texts()) texts.emplace(text);
  return texts;
}

// Inserts missing_values before the transforms.
void add_missing_values(const ColumnLook& column, FeatureDraft& draft) {
  auto& transforms = *draft.feature.mutable_transform();
  const bool as_numbers =
      draft.feature.kind() == FeatureConfig::DENSE ||
      (!transforms.empty() && (transforms[0].has_bucketize() || transforms[0].has_cast()));
  const std::optional<TransformConfig> missing = draft_missing_values(column, as_numbers);
  if (!missing) return;
  *transforms.Add() = *missing;
  for (int i = transforms.size() - 1; i > 0; --i) transforms.SwapElements(i, i - 1);
}

FeatureDraft draft_feature(const ColumnLook& column) {
  FeatureDraft draft{.column = column.name};
  draft.feature.set_name(column.name);
  draft.note = reason_to_leave_out(column);
  draft.is_used = draft.note.empty();
  if (!draft.is_used) return draft;
  if (is_group(column)) {
    draft.feature.set_kind(FeatureConfig::GROUP_ID);
    if (column.kind == ValueKind::kText) draft.feature.add_transform()->mutable_hash();
    const bool misses = column.missing_rows > 0 || !column.missing_texts.empty();
    if (misses) draft.feature.set_default_id(0);
    draft.note = "groups, by name";
  } else if (is_time(column)) {
    draft_time(column, draft);
  } else if (is_categorical(column)) {
    draft_sparse(column, draft);
  } else {
    draft_dense(column, draft);
  }
  add_missing_values(column, draft);
  return draft;
}

// Sets a list "value" of a libsvm file as the weights of the list "index", also by field. A
// constant index has a plain number as its value.
void join_weights(std::vector<FeatureDraft>& drafts) {
  for (FeatureDraft& ids : drafts) {
    if (!absl::StartsWith(ids.column, "index") || !ids.is_used) continue;
    const std::string weights = absl::StrCat("value", ids.column.substr(5));
    for (FeatureDraft& draft : drafts) {
      if (draft.column != weights || absl::StartsWith(draft.note, "constant")) continue;
      ids.feature.set_weight_column(weights);
      draft.is_used = false;
      draft.note = absl::StrCat("the weights of ", ids.column);
    }
  }
}

// Returns a valid table name, of letters, digits, _ and -: "price_EUR" for "price (EUR)". `taken`:
// names already in use.
std::string name_for(const std::string& column, absl::flat_hash_set<std::string>& taken) {
  std::string name;
  for (const char c : column) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-') {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '_') {
      name.push_back('_');
    }
    if (name.size() == kNameBytes) break;
  }
  if (name == column) return name;
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) name = "column";
  std::string free = name;
  for (int i = 2; !taken.insert(free).second; ++i) free = absl::StrCat(name, "_", i);
  return free;
}

// Returns what becomes of lists in cells of delimited text.
std::string list_note(const ColumnLook& column, bool are_split) {
  const std::string lists = absl::StrCat("lists in cells such as ", column.list_cell);
  if (are_split) return absl::StrCat("ids, hashed as text, in ", lists);
  return absl::StrCat(lists, ", each hashed as one text: csv { list_delimiter: \"",
                      absl::string_view(&column.list_delimiter, 1),
                      "\" } is for all columns, and others have the character in cells or lists "
                      "with another delimiter");
}

// Returns "; in the evaluation data ..." if the ids that are made of a hashed column are others
// there, else "".
std::string eval_note(const ColumnLook& column, const DataLook& look) {
  std::string difference;
  for (const ColumnLook& other : look.eval ? look.eval->columns : std::vector<ColumnLook>()) {
    if (other.name != column.name || other.values == 0 || column.values == 0) continue;
    // 7 and 7.0 are one value, but two ids.
    const bool are_numbers = column.is_delimited_text && column.kind != ValueKind::kText &&
                             other.kind != ValueKind::kText;
    if (other.kind != column.kind && (are_numbers || other.has_new_values_only)) {
      difference = absl::StrCat("the column is of kind ", name_of(other.kind), ", not ",
                                name_of(column.kind), " as in training");
    } else if (other.has_blanks != column.has_blanks) {
      difference = absl::StrCat("cells have ", column.has_blanks ? "no " : "",
                                "blanks around them, unlike in training");
    } else if (other.has_new_values_only && column.list_cell.empty()) {
      difference = "no value that was looked at is one of training";
    }
  }
  if (difference.empty()) return "";
  return absl::StrCat("; in the evaluation data ", difference,
                      ": the model does not know such ids, so write them as in training");
}

// Names features as their columns, or similarly if a table cannot have the name.
void name_features(const DataLook& look, std::vector<FeatureDraft>& drafts) {
  absl::flat_hash_set<std::string> taken = {"label"};
  if (look.label) taken.insert(label_name(*look.label));
  for (const ColumnLook& column : look.train.columns) taken.insert(column.name);
  for (FeatureDraft& draft : drafts) {
    const std::string name = name_for(draft.column, taken);
    if (!draft.is_used || name == draft.column) continue;
    draft.feature.set_name(name);
    draft.feature.set_column(draft.column);
  }
}

}  // namespace

ColumnLook with_missing_texts_of_eval(const ColumnLook& column, const DataLook& look) {
  ColumnLook merged = column;
  const bool is_text =
      column.kind == ValueKind::kText && column.long_integer.empty() && column.list_cell.empty();
  if (!look.eval || is_text) return merged;
  for (const ColumnLook& other : look.eval->columns) {
    if (other.name != column.name) continue;
    for (const auto& [text, count] : other.missing_texts) merged.missing_texts[text] += count;
  }
  return merged;
}

std::string label_name(const LabelRule& rule) {
  return rule.at_least ? "label" : std::string(absl::StripAsciiWhitespace(rule.column));
}

std::optional<TransformConfig> draft_missing_values(const ColumnLook& column, bool as_numbers) {
  TransformConfig transform;
  MissingValuesTransform& missing = *transform.mutable_missing_values();
  if (column.not_a_number > 0) missing.set_nan(true);
  for (const std::string& text : texts_to_expect(column, as_numbers)) {
    // Cells that become numbers need not be compared as text.
    if (as_numbers && is_nan_text(text)) {
      missing.set_nan(true);
    } else {
      missing.add_text(text);
    }
  }
  if (missing.ByteSizeLong() == 0) return std::nullopt;
  return transform;
}

bool is_time_partition(const ColumnLook& column) {
  return column.is_partition && (is_name_of_load(column.name) || column.holds_dates);
}

std::vector<FeatureDraft> draft_features(const DataLook& look) {
  std::vector<FeatureDraft> drafts;
  bool has_group = false;
  for (const ColumnLook& column : look.train.columns) {
    if (look.label && column.name == look.label->column) continue;
    FeatureDraft draft = draft_feature(with_missing_texts_of_eval(column, look));
    if (draft.is_used && !column.list_cell.empty()) {
      draft.note = list_note(column, common_list_delimiter(look.train) != 0);
    }
    const auto& transforms = draft.feature.transform();
    const bool is_hashed =
        std::any_of(transforms.begin(), transforms.end(),
                    [](const TransformConfig& transform) { return transform.has_hash(); });
    if (draft.is_used && is_hashed && draft.feature.kind() == FeatureConfig::SPARSE) {
      draft.note += eval_note(column, look);
    }
    if (draft.feature.kind() == FeatureConfig::GROUP_ID && draft.is_used) {
      if (has_group) {
        draft.is_used = false;
        draft.note = "a second column that looks like groups; a job has one";
      }
      has_group = true;
    }
    drafts.push_back(std::move(draft));
  }
  if (look.train.format == "libsvm") join_weights(drafts);
  name_features(look, drafts);
  return drafts;
}

}  // namespace millrace
