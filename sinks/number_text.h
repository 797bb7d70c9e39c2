// Numbers as text.
#ifndef MILLRACE_SINKS_NUMBER_TEXT_H_
#define MILLRACE_SINKS_NUMBER_TEXT_H_

#include <string>

namespace millrace {

// The words of a format for numbers that are not finite.
struct NumberWords {
  const char* not_a_number;
  const char* infinity;
  const char* minus_infinity;
};

// Returns the shortest decimal number that reads back as `value`, or a word.
std::string number_text(double value, const NumberWords& words);

// Returns the number that the shortest decimal number for `value` has in float64: 0.1 for 0.1f.
double shortest_decimal(float value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_NUMBER_TEXT_H_
