#include "io/format/arrow_columns.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/data.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/column_rows.h"

namespace millrace {
namespace {

static_assert(std::endian::native == std::endian::little);

// Powers of ten that a double holds exactly.
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int64_t kExactIntegers = int64_t{1} << 53;

// A number in two's complement of 4, 8, 16 or 32 bytes, the lowest first.
struct Unscaled {
  const uint8_t* bytes;
  int width;
};

template <typename T>
T load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Returns nullopt beyond 64 bits.
std::optional<int64_t> small_integer(const Unscaled& number) {
  if (number.width == 4) return load<int32_t>(number.bytes);
  const auto low = load<int64_t>(number.bytes);
  for (int byte = 8; byte < number.width; byte += 8) {
    if (load<int64_t>(number.bytes + byte) != (low < 0 ? -1 : 0)) return std::nullopt;
  }
  return low;
}

std::string integer_text(const Unscaled& number) {
  if (const std::optional<int64_t> small = small_integer(number)) return absl::StrCat(*small);
  if (number.width == 16) return arrow::Decimal128(number.bytes).ToIntegerString();
  return arrow::Decimal256(number.bytes).ToIntegerString();
}

// Returns the number times 10^zeros; nullopt beyond 64 bits.
std::optional<int64_t> to_integer(const Unscaled& number, int zeros) {
  std::optional<int64_t> value = small_integer(number);
  if (!value || *value == 0) return value;
  for (int i = 0; i < zeros; ++i) {
    if (__builtin_mul_overflow(*value, int64_t{10}, &*value)) return std::nullopt;
  }
  return value;
}

// Returns the double nearest to the number divided by 10^scale.
double to_double(const Unscaled& number, int scale) {
  const std::optional<int64_t> small = small_integer(number);
  // Both are exact, so that the quotient is rounded once.
  if (small && *small >= -kExactIntegers && *small <= kExactIntegers &&
      scale < static_cast<int>(std::size(kPowers))) {
    return static_cast<double>(*small) / kPowers[scale];
  }
  const std::string text = absl::StrCat(integer_text(number), "e-", scale);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

ValueType type_of_decimals(const arrow::DecimalType& type) {
  return type.scale() > 0 ? ValueType::kDouble : ValueType::kInt64;
}

void append_decimals(const arrow::Array& array, int64_t begin, int64_t count, Column* out,
                     std::vector<BadValue>* bad) {
  const auto& type = static_cast<const arrow::DecimalType&>(*array.type());
  const arrow::ArrayData& data = *array.data();
  Unscaled number{.bytes = data.buffers[1]->data() + (data.offset + begin) * type.byte_width(),
                  .width = type.byte_width()};
  for (int64_t i = 0; i < count; ++i, number.bytes += number.width) {
    if (type.scale() > 0) {
      out->doubles.push_back(to_double(number, type.scale()));
      continue;
    }
    const std::optional<int64_t> value = to_integer(number, -type.scale());
    if (!value) {
      const std::string zeros = type.scale() < 0 ? absl::StrCat("e", -type.scale()) : "";
      bad->push_back(
          {.index = static_cast<int64_t>(out->int64s.size()),
           .what = absl::StrCat(integer_text(number), zeros, " does not fit a 64-bit integer")});
    }
    out->int64s.push_back(value.value_or(0));
  }
}

namespace {

// Returns true for a type without values, also in dictionaries.
bool is_null_type(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return type.id() == arrow::Type::NA;
  return is_null_type(*static_cast<const arrow::DictionaryType&>(type).value_type());
}

// Returns: false for a type we do not read.
bool value_type(const arrow::DataType& type, ValueType* value) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP: *value = ValueType::kInt64; return true;
    case arrow::Type::UINT64: *value = ValueType::kUint64; return true;
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE: *value = ValueType::kDouble; return true;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      *value = type_of_decimals(static_cast<const arrow::DecimalType&>(type));
      return true;
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::FIXED_SIZE_BINARY: *value = ValueType::kString; return true;
    case arrow::Type::NA: *value = ValueType::kText; return true;
    case arrow::Type::DICTIONARY:
      return value_type(*static_cast<const arrow::DictionaryType&>(type).value_type(), value);
    default: return false;
  }
}

// Values are appended in runs of rows without nulls, [begin, begin + count) of the array.
template <typename T, typename Out>
void append_numbers(const arrow::ArrayData& data, int64_t begin, int64_t count,
                    std::vector<Out>* out) {
  const T* values = data.GetValues<T>(1) + begin;
  out->insert(out->end(), values, values + count);
}

void append_float16s(const arrow::ArrayData& data, int64_t begin, int64_t count,
                     std::vector<double>* out) {
  const uint16_t* values = data.GetValues<uint16_t>(1) + begin;
  for (int64_t i = 0; i < count; ++i) {
    out->push_back(arrow::util::Float16::FromBits(values[i]).ToDouble());
  }
}

template <typename ArrayType>
void append_texts(const arrow::Array& array, int64_t begin, int64_t count, StringValues* out) {
  const auto& texts = static_cast<const ArrayType&>(array);
  for (int64_t i = begin; i < begin + count; ++i) {
    const auto text = texts.GetView(i);
    out->push_back(absl::string_view(text.data(), text.size()));
  }
}

absl::Status append_run(const arrow::Array& array, int64_t begin, int64_t count, Column* out,
                        std::vector<BadValue>* bad);

absl::Status append_dictionary(const arrow::Array& array, int64_t begin, int64_t count, Column* out,
                               std::vector<BadValue>* bad) {
  const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
  const arrow::Array& words = *encoded.dictionary();
  for (int64_t i = begin; i < begin + count; ++i) {
    const int64_t index = encoded.GetValueIndex(i);
    if (index < 0 || index >= words.length() || words.IsNull(index)) {
      return absl::DataLossError(
          absl::StrCat("entry ", index, " of a dictionary of ", words.length()));
    }
    RETURN_IF_ERROR(append_run(words, index, 1, out, bad));
  }
  return absl::OkStatus();
}

absl::Status append_run(const arrow::Array& array, int64_t begin, int64_t count, Column* out,
                        std::vector<BadValue>* bad) {
  const arrow::ArrayData& data = *array.data();
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      for (int64_t i = begin; i < begin + count; ++i) {
        out->int64s.push_back(static_cast<const arrow::BooleanArray&>(array).Value(i));
      }
      break;
    case arrow::Type::INT8: append_numbers<int8_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::INT16: append_numbers<int16_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32: append_numbers<int32_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::UINT8: append_numbers<uint8_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::UINT16: append_numbers<uint16_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::UINT32: append_numbers<uint32_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::UINT64:
    case arrow::Type::INT64:
    case arrow::Type::DATE64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP: append_numbers<int64_t>(data, begin, count, &out->int64s); break;
    case arrow::Type::HALF_FLOAT: append_float16s(data, begin, count, &out->doubles); break;
    case arrow::Type::FLOAT: append_numbers<float>(data, begin, count, &out->doubles); break;
    case arrow::Type::DOUBLE: append_numbers<double>(data, begin, count, &out->doubles); break;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      append_texts<arrow::BinaryArray>(array, begin, count, &out->strings);
      break;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      append_texts<arrow::LargeBinaryArray>(array, begin, count, &out->strings);
      break;
    case arrow::Type::FIXED_SIZE_BINARY:
      append_texts<arrow::FixedSizeBinaryArray>(array, begin, count, &out->strings);
      break;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: append_decimals(array, begin, count, out, bad); break;
    case arrow::Type::DICTIONARY: return append_dictionary(array, begin, count, out, bad);
    default:
      return absl::DataLossError(absl::StrCat("an unexpected type ", array.type()->ToString()));
  }
  return absl::OkStatus();
}

// Appends the values of [begin, end) that are not null. Returns: how many.
absl::StatusOr<int64_t> append_values(const arrow::Array& array, int64_t begin, int64_t end,
                                      Column* out, std::vector<BadValue>* bad) {
  if (is_null_type(*array.type())) return 0;
  if (array.null_count() == 0) {
    RETURN_IF_ERROR(append_run(array, begin, end - begin, out, bad));
    return end - begin;
  }
  int64_t appended = 0;
  for (int64_t i = begin; i < end;) {
    if (array.IsNull(i)) {
      ++i;
      continue;
    }
    int64_t run_end = i + 1;
    while (run_end < end && array.IsValid(run_end)) ++run_end;
    RETURN_IF_ERROR(append_run(array, i, run_end - i, out, bad));
    appended += run_end - i;
    i = run_end;
  }
  return appended;
}

absl::Status append_plain(const arrow::Array& array, Column* column, std::vector<BadValue>* bad) {
  if (is_null_type(*array.type())) {
    append_empty_rows(array.length(), column);
    return absl::OkStatus();
  }
  if (array.null_count() > 0) make_jagged(*column);
  if (!column->offsets.empty()) {
    int64_t total = column->offsets.back();
    for (int64_t i = 0; i < array.length(); ++i) {
      if (array.IsValid(i)) ++total;
      column->offsets.push_back(total);
    }
  }
  column->rows += array.length();
  return append_values(array, 0, array.length(), column, bad).status();
}

// Returns true if the lists lie end to end in their values, without null values: null lists hold no
// values.
template <typename ListArrayType>
bool lie_end_to_end(const ListArrayType& lists) {
  if (lists.values()->null_count() > 0 || is_null_type(*lists.value_type())) return false;
  if (lists.null_count() == 0) return true;
  int64_t held_by_nulls = 0;
  for (int64_t i = 0; i < lists.length(); ++i) {
    if (lists.IsNull(i)) held_by_nulls += lists.value_length(i);
  }
  return held_by_nulls == 0;
}

template <typename ListArrayType>
absl::Status append_lists(const arrow::Array& array, Column* column, std::vector<BadValue>* bad) {
  const auto& lists = static_cast<const ListArrayType&>(array);
  const arrow::Array& values = *lists.values();
  const int64_t rows = lists.length();
  if (rows == 0) return absl::OkStatus();
  const int64_t first = lists.value_offset(0), last = lists.value_offset(rows);
  if (first < 0 || last > values.length()) {
    return absl::DataLossError("lists reach beyond their values");
  }
  const bool whole = lie_end_to_end(lists);
  bool one_each = whole && column->offsets.empty() && last - first == rows;
  for (int64_t i = 0; one_each && i < rows; ++i) one_each = lists.value_length(i) == 1;
  if (!one_each) make_jagged(*column);
  column->rows += rows;
  if (one_each) return append_values(values, first, last, column, bad).status();
  std::vector<int64_t>& offsets = column->offsets;
  const int64_t before = offsets.back();
  if (whole) {  // the usual case is copied in one piece
    for (int64_t i = 1; i <= rows; ++i) offsets.push_back(before + lists.value_offset(i) - first);
    return append_values(values, first, last, column, bad).status();
  }
  int64_t total = before;
  for (int64_t i = 0; i < rows; ++i) {
    if (lists.IsValid(i)) {
      const int64_t begin = lists.value_offset(i);
      ASSIGN_OR_RETURN(const int64_t count,
                       append_values(values, begin, begin + lists.value_length(i), column, bad));
      total += count;
    }
    offsets.push_back(total);
  }
  return absl::OkStatus();
}

}  // namespace

const arrow::DataType* list_value_type(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::BaseListType&>(type).value_type().get();
    default: return nullptr;
  }
}

FileColumn describe_field(const arrow::Field& field) {
  FileColumn column;
  column.name = field.name();
  column.type_name = field.type()->ToString();
  const arrow::DataType* item = list_value_type(*field.type());
  const arrow::DataType& value = item != nullptr ? *item : *field.type();
  column.supported = value_type(value, &column.type);
  column.is_empty = is_null_type(value);
  if (value.id() == arrow::Type::FLOAT) column.exact_integers = 0x1p24;
  if (value.id() == arrow::Type::HALF_FLOAT) column.exact_integers = 0x1p11;
  return column;
}

absl::Status append_array(const arrow::Array& array, Column* column, std::vector<BadValue>* bad) {
  switch (array.type_id()) {
    case arrow::Type::LIST: return append_lists<arrow::ListArray>(array, column, bad);
    case arrow::Type::LARGE_LIST: return append_lists<arrow::LargeListArray>(array, column, bad);
    case arrow::Type::FIXED_SIZE_LIST:
      return append_lists<arrow::FixedSizeListArray>(array, column, bad);
    default: return append_plain(array, column, bad);
  }
}

absl::Status add_bad_values(const Column& column, absl::Span<const BadValue> values,
                            const ColumnOrigin& origin, BadRows& bad) {
  for (const BadValue& value : values) {
    const int64_t row = row_of_value(column.offsets, value.index);
    RETURN_IF_ERROR(bad.add(
        row, absl::DataLossError(absl::StrCat(origin.group, ", row ", origin.first_row + row,
                                              ", column ", origin.column, ": ", value.what))));
  }
  return absl::OkStatus();
}

}  // namespace millrace
