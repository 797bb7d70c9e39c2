#include "sinks/number_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace millrace {

std::string number_text(double value, const NumberWords& words) {
  if (std::isnan(value)) return words.not_a_number;
  if (std::isinf(value)) return value > 0 ? words.infinity : words.minus_infinity;
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

double shortest_decimal(float value) {
  char buffer[32];
  *std::to_chars(buffer, buffer + sizeof(buffer) - 1, value).ptr = 0;
  return std::strtod(buffer, nullptr);
}

}  // namespace millrace
