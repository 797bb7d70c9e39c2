#include "sinks/number_text.h"

#include <charconv>
#include <cmath>

namespace millrace {

std::string number_text(double value, const NumberWords& words) {
  if (std::isnan(value)) return words.not_a_number;
  if (std::isinf(value)) return value > 0 ? words.infinity : words.minus_infinity;
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

}  // namespace millrace
