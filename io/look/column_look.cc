#include "io/look/column_look.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "base/utf8/characters.h"
#include "io/exact_integer.h"
#include "io/look/cell_text.h"
#include "io/look/name_words.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr int64_t kKept = 8192;
constexpr int64_t kQuantiles = 100;  // steps
constexpr int64_t kManyDates = 10;   // different ones are no ids by chance
constexpr size_t kListBytes = 40;    // of an example

// Returns true for an integer of any size as ids are written: no sign "+", no spaces and no leading
// zeros, which would be lost in a number.
bool is_whole_number(absl::string_view text) {
  const absl::string_view digits = absl::StartsWith(text, "-") ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
  return std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
}

// Parses an integer of 64 bits that is_whole_number().
bool parse_integer(absl::string_view text, int64_t* value) {
  return is_whole_number(text) && absl::SimpleAtoi(text, value);
}

// Parses a number as the reader of delimited text does, except codes such as "007".
bool parse_number(absl::string_view text, double* value) {
  return !has_leading_zero(text) && parse_cell_number(text, value);
}

bool is_date(double number) {
  return is_exact_integer(number) && is_date_number(static_cast<int64_t>(number));
}

}  // namespace

absl::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInteger: return "integer";
    case ValueKind::kNumber: return "number";
    case ValueKind::kText: return "text";
    case ValueKind::kUnreadable: return "unreadable";
  }
  return "";
}

double ColumnLook::missing_share() const {
  return rows == 0 ? 0 : static_cast<double>(missing_rows) / static_cast<double>(rows);
}

double ColumnLook::quantile(double p) const {
  if (quantiles.empty()) return 0;
  const double place = p * static_cast<double>(quantiles.size() - 1);
  return quantiles[static_cast<size_t>(std::lround(place))];
}

std::string odd_cells_text(const ColumnLook& look) {
  std::vector<std::string> texts;
  for (const std::string& text : look.odd_texts) {
    texts.push_back(absl::StrCat(
        "\"", is_utf8(text) ? absl::Utf8SafeCEscape(text) : absl::CEscape(text), "\""));
  }
  return absl::StrCat(look.odd_cells, " of ", look.values, ", such as ",
                      absl::StrJoin(texts, ", "));
}

double estimate_distinct(double sampled, double all, double distinct, double once) {
  if (sampled <= 0 || all <= sampled) return distinct;
  const double estimate = sampled * distinct / (sampled - once + once * sampled / all);
  return std::clamp(estimate, distinct, all);
}

ColumnSampler::ColumnSampler(const FileColumn& column) : type_(column.type) {
  look_.name = column.name;
  look_.has_blanks = absl::StripAsciiWhitespace(column.name).size() < column.name.size();
  look_.type_name = column.type_name;
  look_.is_delimited_text = column.type == ValueType::kText;
  look_.is_partition = column.is_partition;
  may_have_decimal_commas_ = look_.is_delimited_text;
  if (!column.supported) return;
  switch (column.type) {
    case ValueType::kInt64:
    case ValueType::kUint64: look_.kind = ValueKind::kInteger; break;
    case ValueType::kDouble: look_.kind = ValueKind::kNumber; break;
    case ValueType::kString:
    case ValueType::kText: look_.kind = ValueKind::kText; break;
  }
}

ValueType ColumnSampler::read_type() const {
  return type_ == ValueType::kText ? ValueType::kString : type_;
}

void ColumnSampler::add(const Column& column, absl::Span<uint64_t> row_hashes) {
  look_.rows += column.rows;
  for (int64_t row = 0; row < column.rows; ++row) {
    const int64_t begin = column.begin(row), end = column.end(row);
    uint64_t hash = row_hashes[row] * 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(end - begin);
    int64_t missing = 0;
    for (int64_t i = begin; i < end; ++i) {
      bool is_missing = false;
      hash = placement_hash(static_cast<int64_t>(hash ^ add_value(column, i, &is_missing)));
      missing += is_missing;
    }
    row_hashes[row] = placement_hash(static_cast<int64_t>(hash));
    missing_values_ += missing;
    rows_of_missing_values_ += missing > 0 && missing == end - begin;
    look_.missing_rows += end == begin;
    look_.values += end - begin;
    look_.max_length = std::max(look_.max_length, end - begin);
  }
}

uint64_t ColumnSampler::add_value(const Column& column, int64_t i, bool* is_missing) {
  uint64_t hash = 0;
  switch (column.type) {
    case ValueType::kInt64:
    case ValueType::kUint64: hash = add_integer(column.int64s[i], column.type); break;
    case ValueType::kDouble:
      *is_missing = std::isnan(column.doubles[i]);
      hash = add_number(column.doubles[i]);
      break;
    case ValueType::kString:
    case ValueType::kText: {
      const absl::string_view text = column.strings[i];
      const absl::string_view cell =
          look_.is_delimited_text ? absl::StripAsciiWhitespace(text) : text;
      look_.has_blanks = look_.has_blanks || cell.size() < text.size();
      *is_missing = look_.is_delimited_text && (cell.empty() || is_missing_text(cell));
      if (*is_missing) ++missing_texts_[std::string(text)];
      hash = *is_missing ? xxh3(text) : add_text(text, cell);
      break;
    }
  }
  if (!*is_missing) ++counts_[hash];
  return hash;
}

uint64_t ColumnSampler::add_integer(int64_t value, ValueType type) {
  add_to_moments(type == ValueType::kUint64 ? static_cast<double>(static_cast<uint64_t>(value))
                                            : static_cast<double>(value));
  return placement_hash(value);
}

uint64_t ColumnSampler::add_number(double value) {
  add_to_moments(value);
  if (!is_exact_integer(value)) {
    if (!std::isnan(value)) all_integers_ = false;
    return placement_hash(std::bit_cast<int64_t>(value));
  }
  return placement_hash(static_cast<int64_t>(value));
}

uint64_t ColumnSampler::add_text(absl::string_view text, absl::string_view cell) {
  int64_t integer = 0;
  double number = 0;
  if (const auto boolean = parse_boolean(cell); boolean && look_.is_delimited_text) {
    add_to_moments(*boolean ? 1 : 0);
    ++booleans_;
    return *boolean_hashes_.insert(xxh3(cell)).first;
  }
  if (may_have_decimal_commas_) find_decimal_comma(cell);
  if (all_integers_ && parse_integer(cell, &integer)) return add_integer(integer);
  all_integers_ = false;
  if (all_digits_) find_long_integer(cell);
  if (look_.is_delimited_text) find_list(cell);
  const bool is_number = (all_numbers_ || look_.is_delimited_text) && parse_number(cell, &number);
  if (!is_number && look_.is_delimited_text) odd_.add(cell);
  if (all_numbers_ && is_number) {
    add_to_moments(number);
    if (is_exact_integer(number))
      return placement_hash(static_cast<int64_t>(number));  // "7.0" is 7
    if (!std::isnan(number)) all_whole_ = false;
  } else {
    all_numbers_ = false;
    may_hold_dates_ = may_hold_dates_ && begins_with_date(cell);
  }
  return parse_integer(cell, &integer) ? placement_hash(integer) : xxh3(text);
}

void ColumnSampler::find_decimal_comma(absl::string_view text) {
  bool has_comma = false;
  may_have_decimal_commas_ = parse_with_comma(text, &has_comma);
  if (has_comma && look_.decimal_comma.empty()) look_.decimal_comma = std::string(text);
}

void ColumnSampler::find_long_integer(absl::string_view text) {
  int64_t integer = 0;
  all_digits_ = is_whole_number(text);
  if (!all_digits_ || !look_.long_integer.empty() || parse_integer(text, &integer)) return;
  look_.long_integer = std::string(text);
}

void ColumnSampler::find_list(absl::string_view text) {
  for (const char delimiter : {'|', ';', ' '}) {
    if (!absl::StrContains(text, delimiter) || absl::StrContains(look_.delimiters, delimiter)) {
      continue;
    }
    look_.delimiters.push_back(delimiter);
  }
  if (!may_hold_lists_ || is_whole_number(text)) return;
  const char delimiter = list_delimiter_of(text);
  may_hold_lists_ =
      delimiter != 0 && (look_.list_cell.empty() || delimiter == look_.list_delimiter);
  if (!may_hold_lists_) return;
  look_.list_delimiter = delimiter;
  if (look_.list_cell.empty()) look_.list_cell = std::string(text.substr(0, kListBytes));
  for (const absl::string_view id : absl::StrSplit(text, delimiter)) list_ids_.insert(xxh3(id));
}

void ColumnSampler::add_to_moments(double value) {
  if (!std::isfinite(value)) {
    ++look_.not_finite;
    look_.not_a_number += std::isnan(value);
    return;
  }
  may_hold_dates_ = may_hold_dates_ && is_date(value);
  look_.min = finite_ == 0 ? value : std::min(look_.min, value);
  look_.max = finite_ == 0 ? value : std::max(look_.max, value);
  sum_ += value;
  if (finite_ % stride_ == 0) {
    if (static_cast<int64_t>(kept_.size()) == kKept) {
      for (int64_t i = 0; i < kKept / 2; ++i) kept_[i] = kept_[2 * i];
      kept_.resize(kKept / 2);
      stride_ *= 2;
    }
    if (finite_ % stride_ == 0) kept_.push_back(value);
  }
  ++finite_;
  const double distance = value - running_mean_;
  running_mean_ += distance / static_cast<double>(finite_);
  squares_ += distance * (value - running_mean_);
}

void ColumnSampler::count_frequencies(int64_t total_rows, ColumnLook& look) const {
  std::vector<int64_t> top;
  int64_t once = 0, most = 0;
  uint64_t most_hash = 0;
  const auto add = [&](uint64_t hash, int64_t count) {
    once += count == 1;
    top.push_back(count);
    if (count < most || (count == most && hash > most_hash)) return;
    most = count;
    most_hash = hash;
  };
  for (const auto& [hash, count] : counts_) add(hash, count);
  // Texts of missing values are values of a column of text.
  if (look.missing_texts.empty()) {
    for (const auto& [text, count] : missing_texts_) add(xxh3(text), count);
  }
  look.distinct = static_cast<int64_t>(top.size());
  // The hash of a boolean is the hash of its text, which has no inverse.
  if (!boolean_hashes_.contains(most_hash)) look.most_frequent = inverse_placement_hash(most_hash);
  const size_t ten = std::min<size_t>(10, top.size());
  std::partial_sort(top.begin(), top.begin() + static_cast<int64_t>(ten), top.end(),
                    std::greater<>());
  int64_t of_ten = 0;
  for (size_t i = 0; i < ten; ++i) of_ten += top[i];
  const double values = static_cast<double>(look.values);
  if (look.values > 0) {
    look.top_share = static_cast<double>(most) / values;
    look.top_ten_share = static_cast<double>(of_ten) / values;
  }
  const double all =
      look.rows == 0 ? 0
                     : values / static_cast<double>(look.rows) * static_cast<double>(total_rows);
  look.estimated_distinct =
      estimate_distinct(values, all, static_cast<double>(look.distinct), static_cast<double>(once));
}

void ColumnSampler::set_kind_of_cells(ColumnLook& look) const {
  const int64_t others = look.values - missing_values_;
  if (!all_digits_) look.long_integer.clear();
  const bool is_long = !look.long_integer.empty();  // ids, which a number would round
  if (others > 0 && !is_long && (all_integers_ || all_numbers_)) {
    look.kind = all_integers_ ? ValueKind::kInteger : ValueKind::kNumber;
  }
  look.is_boolean = others > 0 && booleans_ == others;
  const bool is_text = others > 0 && look.kind == ValueKind::kText;
  if (!is_text || !may_have_decimal_commas_) look.decimal_comma.clear();
  const std::string near_number = odd_.near_number();
  // "1 200" is a price rather than two ids if all cells with blanks are written so.
  const bool has_thousands = look.list_delimiter == ' ' && !near_number.empty();
  if (!is_text || !may_hold_lists_ || booleans_ > 0 || has_thousands) look.list_cell.clear();
  if (look.list_cell.empty()) look.list_delimiter = 0;
  look.list_ids = look.list_cell.empty() ? 0 : static_cast<int64_t>(list_ids_.size());
  const bool are_ids = is_long || !look.list_cell.empty();
  if (!is_text || are_ids) look.missing_texts = missing_texts_;
  if (!is_text || are_ids || !look.decimal_comma.empty()) return;
  if (odd_.are_few(others)) {
    look.odd_cells = odd_.count();
    look.odd_texts = odd_.texts();
  } else {
    look.near_number = near_number;
  }
}

ColumnLook ColumnSampler::finish(int64_t total_rows) const {
  ColumnLook look = look_;
  if (look.is_delimited_text) set_kind_of_cells(look);
  const bool are_values = look.missing_texts.size() < missing_texts_.size();  // in a column of text
  if (!are_values) {
    look.missing_rows += rows_of_missing_values_;
    look.values -= missing_values_;
  }
  const int64_t rows_with_values = look.rows - look.missing_rows;
  if (rows_with_values > 0) {
    look.mean_length = static_cast<double>(look.values) / static_cast<double>(rows_with_values);
  }
  count_frequencies(total_rows, look);
  look.holds_dates = may_hold_dates_ && look.values > 0 && look.kind != ValueKind::kUnreadable &&
                     (look.kind == ValueKind::kText || look.is_partition ||
                      look.distinct >= kManyDates || is_name_of_time(look.name));
  if (look.kind != ValueKind::kInteger && look.kind != ValueKind::kNumber) {
    look.min = look.max = 0;
    look.not_finite = look.not_a_number = 0;
    return look;
  }
  const bool whole = look.is_delimited_text ? all_whole_ : all_integers_;
  look.is_whole = whole && look.not_finite == look.not_a_number;
  if (finite_ == 0) return look;
  look.mean = sum_ / static_cast<double>(finite_);
  look.standard_deviation = std::sqrt(squares_ / static_cast<double>(finite_));
  std::vector<double> sorted = kept_;
  std::sort(sorted.begin(), sorted.end());
  sorted.front() = look.min;
  sorted.back() = look.max;
  const int64_t last = static_cast<int64_t>(sorted.size()) - 1;
  for (int64_t i = 0; i <= kQuantiles; ++i) look.quantiles.push_back(sorted[i * last / kQuantiles]);
  return look;
}

bool ColumnSampler::is_disjoint(const ColumnSampler& other) const {
  if (counts_.empty() || other.counts_.empty()) return false;
  return std::none_of(counts_.begin(), counts_.end(),
                      [&](const auto& entry) { return other.counts_.contains(entry.first); });
}

}  // namespace millrace
