#include "io/transform/missing_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/text_values.h"

namespace millrace {
namespace {

class IsMissing : public Transform {
 public:
  Takes takes() const override { return Takes::kAny; }

  // Only the number of values matters.
  bool distinguishes_text() const override { return false; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn list = std::move(values->list);
    values->list = IdColumn();
    values->list.rows = list.rows;
    const absl::Span<int64_t> ids = values->make_ids(list.rows);
    for (int64_t row = 0; row < list.rows; ++row) ids[row] = list.begin(row) == list.end(row);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Transform> make_is_missing_transform() { return std::make_unique<IsMissing>(); }

namespace {

// The column is text, or is not and only texts are given.
absl::Status check_type(const MissingValuesTransform& config, ValueType column, ValueType gives) {
  const bool has_numbers = config.number_size() > 0 || config.nan();
  if (gives != ValueType::kString) {
    if (column == ValueType::kText || has_numbers) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("missing_values: text is given and the column holds ", describe(column),
                     "; give number or nan"));
  }
  // Texts of a file are seldom numbers, cells of delimited text often are.
  const bool is_cell = column == ValueType::kText;
  if (config.number_size() > 0 && !is_cell) {
    return absl::InvalidArgumentError(
        "missing_values: number is given and the column holds text; leave number out, or give the "
        "texts that stand for a missing value as text");
  }
  if (config.number_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("missing_values: number is given and the values are text; write text: \"",
                     config.number(0), "\""));
  }
  if (!config.nan() || config.text_size() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      is_cell
          ? "missing_values: nan is given and the values are text; write text: \"nan\""
          : "missing_values: nan is given and the column holds text; leave nan out, or give the "
            "texts that stand for a missing value as text");
}

std::vector<double> as_numbers(const MissingValuesTransform& config) {
  std::vector<double> numbers;
  for (const double number : config.number()) {
    numbers.push_back(number);
    if (std::abs(number) <= std::numeric_limits<float>::max()) {
      numbers.push_back(static_cast<float>(number));
    }
  }
  return numbers;
}

// Leaves out numbers that are no integer of the type.
std::vector<int64_t> as_integers(const MissingValuesTransform& config, ValueType type) {
  const bool is_unsigned = type == ValueType::kUint64;
  const double least = is_unsigned ? 0 : -0x1p63, end = is_unsigned ? 0x1p64 : 0x1p63;
  std::vector<int64_t> integers;
  for (const double number : config.number()) {
    // The largest integer of the type, which as a double is rounded.
    if (number == end) integers.push_back(is_unsigned ? -1 : std::numeric_limits<int64_t>::max());
    if (!(number >= least && number < end && number == std::trunc(number))) continue;
    integers.push_back(is_unsigned ? static_cast<int64_t>(static_cast<uint64_t>(number))
                                   : static_cast<int64_t>(number));
  }
  return integers;
}

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Parses a text as `*column`'s type and appends the number. Returns: whether it is one; else the
// number is 0.
bool append_number(absl::string_view text, Column* column) {
  return column->type == ValueType::kDouble
             ? parse_cell_number(text, &column->doubles.emplace_back(0))
             : parse_cell_number(text, &column->int64s.emplace_back(0));
}

void append_value(const Column& from, int64_t i, Column* to) {
  switch (from.type) {
    case ValueType::kDouble: to->doubles.push_back(from.doubles[i]); break;
    case ValueType::kString:
    case ValueType::kText: to->strings.push_back(from.strings[i]); break;
    case ValueType::kInt64:
    case ValueType::kUint64: to->int64s.push_back(from.int64s[i]); break;
  }
}

// Returns a column without values, for which the caller appends the end of each row.
Column without_values(ValueType type, int64_t rows) {
  Column column;
  column.type = type;
  column.rows = rows;
  column.offsets.reserve(rows + 1);
  column.offsets.push_back(0);
  return column;
}

// Returns the column of the values with a flag.
Column select(const Column& column, absl::Span<const uint8_t> flags) {
  Column kept = without_values(column.type, column.rows);
  int64_t count = 0;
  for (int64_t row = 0; row < column.rows; ++row) {
    for (int64_t i = column.begin(row); i < column.end(row); ++i) {
      if (flags[i] == 0) continue;
      append_value(column, i, &kept);
      ++count;
    }
    kept.offsets.push_back(count);
  }
  simplify_offsets(kept);
  return kept;
}

void append_zero(Column* column) {
  if (column->type == ValueType::kDouble) {
    column->doubles.push_back(0);
  } else {
    column->int64s.push_back(0);
  }
}

// Returns the weights of the values with a flag.
absl::StatusOr<Column> select_weights(const FeatureInput& input, absl::Span<const uint8_t> flags) {
  const Column& column = input.column;
  const Column& weights = *input.weights;
  Column kept = without_values(weights.type, weights.rows);
  int64_t count = 0;
  for (int64_t row = 0; row < column.rows; ++row) {
    const int64_t begin = column.begin(row), values = column.end(row) - begin;
    const int64_t first = weights.begin(row), given = weights.end(row) - first;
    const int64_t left = std::count(flags.begin() + begin, flags.begin() + begin + values, 1);
    const bool fits = given == values;
    // A row without values needs no weights.
    if (!fits && (given > 0 || left > 0) && !input.bad.contains(row)) {
      RETURN_IF_ERROR(input.bad.add(
          row, input.place.error(row, absl::StrCat(values, " ids and ", given, " weights"))));
    }
    for (int64_t k = 0; k < values; ++k) {
      if (flags[begin + k] == 0) continue;
      if (fits) append_value(weights, first + k, &kept);
      if (!fits) append_zero(&kept);
    }
    kept.offsets.push_back(count += left);
  }
  simplify_offsets(kept);
  return kept;
}

}  // namespace

MissingValues::MissingValues(const MissingValuesTransform& config, Options options)
    : options_(options),
      reads_as_(options.column),
      texts_(config.text().begin(), config.text().end()),
      nan_(config.nan()),
      numbers_(as_numbers(config)),
      integers_(as_integers(config, ValueType::kInt64)),
      unsigned_integers_(as_integers(config, ValueType::kUint64)) {
  if (options.column != ValueType::kText) return;
  reads_as_ = texts_.empty() ? options.gives : ValueType::kString;
}

absl::StatusOr<MissingValues> MissingValues::create(const MissingValuesTransform& config,
                                                    Options options) {
  RETURN_IF_ERROR(check_type(config, options.column, options.gives));
  return MissingValues(config, options);
}

absl::string_view MissingValues::stripped(absl::string_view text) const {
  return options_.ignores_blanks ? absl::StripAsciiWhitespace(text) : text;
}

void MissingValues::find_texts(const StringValues& texts, absl::Span<uint8_t> flags) const {
  for (size_t i = 0; i < flags.size(); ++i) {
    const absl::string_view text = stripped(texts[static_cast<int64_t>(i)]);
    const bool is_blank = options_.ignores_blanks && text.empty();
    if (is_blank || std::find(texts_.begin(), texts_.end(), text) != texts_.end()) flags[i] = 0;
  }
}

void MissingValues::find_numbers(const Column& column, absl::Span<uint8_t> flags) const {
  // The type is that of this file.
  const auto& integers = column.type == ValueType::kUint64 ? unsigned_integers_ : integers_;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == 0) continue;
    const bool is_missing =
        column.type == ValueType::kDouble
            ? (nan_ && std::isnan(column.doubles[i])) || contains(numbers_, column.doubles[i])
            : contains(integers, column.int64s[i]);
    if (is_missing) flags[i] = 0;
  }
}

absl::StatusOr<Column> MissingValues::parse(const FeatureInput& input,
                                            absl::Span<const uint8_t> flags) const {
  const Column& column = input.column;
  Column parsed;
  parsed.type = options_.gives;
  parsed.rows = column.rows;
  parsed.offsets = column.offsets;
  for (int64_t row = 0; row < column.rows; ++row) {
    for (int64_t i = column.begin(row); i < column.end(row); ++i) {
      const absl::string_view text = flags[i] == 0 ? "0" : stripped(column.strings[i]);
      if (append_number(text, &parsed) || input.bad.contains(row)) continue;
      RETURN_IF_ERROR(input.bad.add(
          row,
          input.place.error(
              row, absl::StrCat("\"", absl::CEscape(text.substr(0, 40)), "\" is not ",
                                options_.gives == ValueType::kDouble ? "a number" : "an integer",
                                "; if it stands for a missing value, add it to "
                                "missing_values.text"))));
    }
  }
  return parsed;
}

absl::StatusOr<MissingValues::Kept> MissingValues::apply(const FeatureInput& input) const {
  std::vector<uint8_t> flags(input.column.values(), 1);
  const absl::Span<uint8_t> all = absl::MakeSpan(flags);
  const Column* column = &input.column;
  Column parsed;
  if (column->type == ValueType::kString) {
    find_texts(column->strings, all);
    if (options_.gives != ValueType::kString) {
      ASSIGN_OR_RETURN(parsed, parse(input, flags));
      column = &parsed;
    }
  }
  if (is_number(column->type)) find_numbers(*column, all);
  Kept kept;
  if (input.weights != nullptr) {
    ASSIGN_OR_RETURN(kept.weights, select_weights(input, flags));
  }
  // Most units miss nothing: their column is kept as it is.
  if (std::find(flags.begin(), flags.end(), 0) != flags.end()) {
    kept.column = select(*column, flags);
  } else if (column == &parsed) {
    kept.column = std::move(parsed);
  } else if (input.owned != nullptr) {
    kept.column = std::move(*input.owned);
  } else {
    kept.column = *column;
  }
  return kept;
}

}  // namespace millrace
