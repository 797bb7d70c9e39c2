#include "io/feature/split_filter.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "io/date_text.h"
#include "io/exact_integer.h"
#include "io/feature/split_check.h"
#include "io/transform/hash_functions.h"

namespace millrace {
namespace {

// Uniform in [0, 1), from the upper 53 bits.
double to_unit(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

uint64_t hash_number(uint64_t bits, uint64_t seed) {
  int64_t id = static_cast<int64_t>(bits);
  hash_ids(HashTransform::XXH3, seed, absl::MakeSpan(&id, 1));
  return static_cast<uint64_t>(id);
}

// Returns the bits of the integer that equals the number, as other files may store it, else those
// of the number.
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

// Returns the number that a cell or the name of a directory writes, or the date as a number.
std::optional<double> position_of(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (const std::optional<int64_t> date = parse_date(text)) return static_cast<double>(*date);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

double number_at(const Column& column, int64_t i) {
  switch (column.type) {
    case ValueType::kDouble: return column.doubles[i];
    case ValueType::kUint64: return static_cast<double>(static_cast<uint64_t>(column.int64s[i]));
    default: return static_cast<double>(column.int64s[i]);
  }
}

}  // namespace

absl::StatusOr<SplitFilter> SplitFilter::create(const SplitConfig& split, ValueType column) {
  const bool by_order = split.by() == SplitConfig::ORDER_OF_COLUMN;
  RETURN_IF_ERROR(check_split("split", split));
  if (by_order && column == ValueType::kString) {
    return absl::InvalidArgumentError(absl::StrCat(
        "split: ORDER_OF_COLUMN needs numbers, and column \"", split.column(),
        "\" holds text; store dates as numbers such as 20240131"));
  }
  SplitFilter filter(split);
  filter.takes_all_ = millrace::takes_all(split);
  filter.reads_as_ = column;
  if (column == ValueType::kText) filter.reads_as_ = ValueType::kString;
  return filter;
}

absl::StatusOr<double> SplitFilter::position(int64_t row_number, const Column& column, int64_t row,
                                             const ColumnPlace& place) const {
  switch (split_.by()) {
    case SplitConfig::HASH_OF_EXAMPLE: return to_unit(hash_number(row_number, 0));
    case SplitConfig::HASH_OF_COLUMN: return to_unit(hash_values(column, row));
    case SplitConfig::ORDER_OF_COLUMN: break;
  }
  if (column.end(row) - column.begin(row) != 1) {
    return place.error(row, "the split needs exactly one value");
  }
  const int64_t first = column.begin(row);
  if (column.type == ValueType::kString) {
    const absl::string_view text = column.strings[first];
    const std::optional<double> position = position_of(text);
    if (position.has_value() && std::isfinite(*position)) return *position;
    return place.error(row, absl::StrCat("\"", absl::CEscape(text.substr(0, 40)),
                                         "\" is neither a number nor a date such as 2024-01-31, "
                                         "which split by ORDER_OF_COLUMN needs"));
  }
  const double value = number_at(column, first);
  if (!std::isfinite(value)) return place.error(row, "the split needs a finite value");
  return value;
}

absl::Status SplitFilter::append(absl::Span<const int64_t> row_numbers, const Column& column,
                                 const ColumnPlace& place, BadRows& bad,
                                 std::vector<uint8_t>* keep) const {
  for (size_t row = 0; row < row_numbers.size(); ++row) {
    const auto at = position(row_numbers[row], column, row, place);
    if (!at.ok()) RETURN_IF_ERROR(bad.add(row, at.status()));
    // Bad rows count where they would have been: in no other part.
    keep->push_back(at.ok() ? *at >= bounds_.from && *at < bounds_.to : 1);
  }
  return absl::OkStatus();
}

}  // namespace millrace
