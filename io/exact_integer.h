// Integers that are stored as doubles.
#ifndef MILLRACE_IO_EXACT_INTEGER_H_
#define MILLRACE_IO_EXACT_INTEGER_H_

#include <cmath>

namespace millrace {

// Every smaller integer is a distinct double.
inline constexpr double kExactIntegers = 0x1p53;

// Returns true if the number is an integer between -kExactIntegers and kExactIntegers, both
// excluded: then no other integer is stored as this double.
inline bool is_exact_integer(double number) {
  return std::abs(number) < kExactIntegers && number == std::trunc(number);
}

}  // namespace millrace

#endif  // MILLRACE_IO_EXACT_INTEGER_H_
