#include "io/format/text_numbers.h"

#include <fast_float/fast_float.h>

#include <charconv>

namespace millrace {
namespace {

// Up to 16 digits and nothing else.
bool parse_digits(const char* text, int64_t count, uint64_t* value) {
  if (count <= 8) {
    const uint64_t bytes = load_digits(text, count);
    *value = digits_value(bytes);
    return count > 0 && are_digits(bytes);
  }
  const uint64_t high = load_digits(text, count - 8), low = load_digits(text + count - 8, 8);
  *value = digits_value(high) * 100000000 + digits_value(low);
  return are_digits(high) && are_digits(low);
}

}  // namespace

bool parse_int64(const char* text, int64_t count, int64_t* value) {
  const bool negative = count > 0 && *text == '-';
  if (count - negative <= 16) {
    uint64_t digits = 0;
    const bool good = parse_digits(text + negative, count - negative, &digits);
    *value = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
    return good;
  }
  const auto result = std::from_chars(text, text + count, *value);
  return result.ec == std::errc() && result.ptr == text + count;
}

bool parse_hexadecimal(const char* text, int64_t count, uint64_t* value) {
  if (count < 1 || count > 16) return false;
  if (count <= 8) return hexadecimal_value(load_digits(text, count), value);
  uint64_t high = 0, low = 0;
  const bool good = hexadecimal_value(load_digits(text, count - 8), &high) &&
                    hexadecimal_value(load_digits(text + count - 8, 8), &low);
  *value = high << 32 | low;
  return good;
}

bool parse_double(const char* text, int64_t count, double* value) {
  const bool negative = count > 0 && *text == '-';
  uint64_t digits = 0;
  // Up to 15 digits are exact. "-0" keeps its sign.
  if (count - negative <= 15 && parse_digits(text + negative, count - negative, &digits)) {
    *value = negative ? -static_cast<double>(digits) : static_cast<double>(digits);
    return true;
  }
  const auto result = fast_float::from_chars(text, text + count, *value);
  return result.ec == std::errc() && result.ptr == text + count;
}

}  // namespace millrace
