#include "io/format/arrow_decimals.h"

#include <arrow/array/data.h>
#include <arrow/util/decimal.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

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

}  // namespace millrace
