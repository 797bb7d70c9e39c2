#include "io/feature/split_filter.h"

#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "io/exact_integer.h"
#include "io/text_values.h"
#include "io/transform/hash_functions.h"
#include "proto/field_check.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

constexpr int64_t kRowBits =
    (int64_t{1} << 40) - 1;  // of a row's number; the others are the file's

// Uniform in [0, 1), from the upper 53 bits.
double to_unit(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

uint64_t hash_number(uint64_t bits, uint64_t seed) {
  int64_t id = static_cast<int64_t>(bits);
  hash_ids(HashTransform::XXH3, seed, absl::MakeSpan(&id, 1));
  return static_cast<uint64_t>(id);
}

// Returns the bits of the integer equal to the number, since other files may store integers, else
// the bits of the number.
uint64_t bits_of(double number) {
  if (is_exact_integer(number)) return static_cast<uint64_t>(static_cast<int64_t>(number));
  return std::bit_cast<uint64_t>(number);
}

uint64_t hash_values(const Column& column, int64_t row) {
  uint64_t hash = 0;
  for (int64_t i = column.begin(row); i < column.end(row); ++i) {
    switch (column.type) {
      case ValueType::kString: hash = xxh3(column.strings[i], hash); break;
      case ValueType::kDouble: hash = hash_number(bits_of(column.doubles[i]), hash); break;
      default: hash = hash_number(static_cast<uint64_t>(column.int64s[i]), hash);
    }
  }
  return hash;
}

// Returns the digits of the number of a date YYYY-MM-DD or YYYY-MM.
int64_t digits_of(absl::string_view date) { return date.size() == 10 ? 8 : 6; }

double number_at(const Column& column, int64_t i) {
  switch (column.type) {
    case ValueType::kDouble: return column.doubles[i];
    case ValueType::kUint64: return static_cast<double>(static_cast<uint64_t>(column.int64s[i]));
    default: return static_cast<double>(column.int64s[i]);
  }
}

}  // namespace

SplitFilter::SplitFilter(SplitConfig split)
    : split_(std::move(split)), bounds_(split_bounds(split_)) {
  for (const double bound : {bounds_.from, bounds_.to}) {
    if (!is_exact_integer(bound)) continue;
    const auto date = static_cast<int64_t>(bound);
    if (date_digits(date) > 0) bound_dates_.push_back(date);
  }
}

absl::StatusOr<SplitFilter> SplitFilter::create(const SplitConfig& split, ValueType column,
                                                TrainConfig::SplitRule rule) {
  const bool by_order = split.by() == SplitConfig::ORDER_OF_COLUMN;
  RETURN_IF_ERROR(check_split("split", split));
  if (by_order && column == ValueType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat("split: ORDER_OF_COLUMN needs numbers, and column \"", split.column(),
                     "\" holds text; store dates as numbers such as 20240131"));
  }
  SplitFilter filter(split);
  filter.takes_all_ = millrace::takes_all(split);
  filter.rule_ = rule;
  filter.reads_as_ = column;
  if (column == ValueType::kText) {
    // Numbers cost less than text, and only dates can be compared to dates.
    const bool as_numbers = by_order && filter.bound_dates_.empty();
    filter.reads_as_ = as_numbers ? ValueType::kDouble : ValueType::kString;
  }
  return filter;
}

absl::StatusOr<double> SplitFilter::position(int64_t row_number, uint64_t seed,
                                             const Column& column, int64_t row,
                                             const ColumnPlace& place, TextPosition* last) const {
  switch (split_.by()) {
    case SplitConfig::HASH_OF_EXAMPLE: return to_unit(hash_number(row_number, seed));
    case SplitConfig::HASH_OF_COLUMN: return to_unit(hash_values(column, row));
    case SplitConfig::ORDER_OF_COLUMN: break;
  }
  if (column.end(row) - column.begin(row) != 1) {
    return place.error(row, "the split needs exactly one value");
  }
  const int64_t first = column.begin(row);
  if (column.type == ValueType::kString) {
    const absl::string_view text = column.strings[first];
    if (last->is_valid && last->text == text) return last->position;
    last->text = text;
    last->is_valid = find_position(text, &last->position);
    if (!last->is_valid) return place.error(row, complaint(text));
    return last->position;
  }
  const double value = number_at(column, first);
  if (!std::isfinite(value)) return place.error(row, "the split needs a finite value");
  return value;
}

bool SplitFilter::find_position(absl::string_view text, double* position) const {
  if (const std::optional<int64_t> date = parse_date(text)) {
    *position = static_cast<double>(*date);
    return !other_bound(text).has_value();
  }
  if (parse_cell_number(text, position) && std::isfinite(*position)) return true;
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  return stripped.size() < text.size() && find_position(stripped, position);
}

std::optional<int64_t> SplitFilter::other_bound(absl::string_view date) const {
  for (const int64_t bound : bound_dates_) {
    if (date_digits(bound) != digits_of(date)) return bound;
  }
  return std::nullopt;
}

std::string SplitFilter::complaint(absl::string_view text) const {
  const std::string quoted = absl::StrCat("\"", absl::CEscape(text.substr(0, 40)), "\"");
  text = absl::StripAsciiWhitespace(text);
  if (!parse_date(text)) {
    return absl::StrCat(quoted,
                        " is neither a number nor a date such as 2024-01-31, which split by "
                        "ORDER_OF_COLUMN needs");
  }
  const int64_t bound = other_bound(text).value_or(0);
  return absl::StrCat(quoted, " is a date of ", digits_of(text), " digits, and the bound ", bound,
                      " of the split has ", date_digits(bound), "; give bounds of ",
                      digits_of(text), " digits");
}

absl::Status SplitFilter::append(absl::Span<const int64_t> row_numbers, const Column& column,
                                 const ColumnPlace& place, BadRows& bad,
                                 std::vector<uint8_t>* keep) const {
  TextPosition last;
  const bool by_name = rule_ == TrainConfig::FILE_NAME;
  const uint64_t seed = by_name ? xxh3(base_name(std::string(place.path))) : 0;
  const int64_t mask = by_name ? kRowBits : -1;
  for (size_t row = 0; row < row_numbers.size(); ++row) {
    const auto at = position(row_numbers[row] & mask, seed, column, row, place, &last);
    if (!at.ok()) RETURN_IF_ERROR(bad.add(row, at.status()));
    // Bad rows count where they would have been: in no other part.
    keep->push_back(at.ok() ? *at >= bounds_.from && *at < bounds_.to : 1);
  }
  return absl::OkStatus();
}

absl::Status check_split(absl::string_view where, const SplitConfig& split) {
  const bool by_order = split.by() == SplitConfig::ORDER_OF_COLUMN;
  const bool needs_column = split.by() != SplitConfig::HASH_OF_EXAMPLE;
  if (needs_column == split.column().empty()) {
    return wrong(where, absl::StrCat("by ", SplitConfig::By_Name(split.by()),
                                     needs_column ? " needs a column" : " takes no column"));
  }
  if (by_order && !split.has_from() && !split.has_to()) {
    return wrong(where, "by ORDER_OF_COLUMN needs a bound; give from, to or both");
  }
  const SplitBounds bounds = split_bounds(split);
  const std::string range = absl::StrCat("from ", bounds.from, " to ", bounds.to);
  if (!(bounds.from <= bounds.to)) {
    return wrong(where, absl::StrCat(range, "; from must not be above to"));
  }
  if (!by_order && (bounds.from < 0 || bounds.to > 1)) {
    return wrong(where, absl::StrCat(range, "; both must be 0 to 1"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
