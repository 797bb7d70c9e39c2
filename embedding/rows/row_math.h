// Sums over the columns of a row, in one order on every machine. Kernels include this, so it is
// plain.
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {

// The sum of term(i)² over i < count, in sixteen lanes: lane l takes the columns l, l + 16, l + 32,
// ... in order. Compilers keep this order, and it fits any vector width.
template <typename T, typename Term>
void lanes_of_squared_terms(int64_t count, const Term& term, T lanes[16]) {
  for (int l = 0; l < 16; ++l) lanes[l] = 0;
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int l = 0; l < 16; ++l) {
      const T value = term(i + l);
      lanes[l] += value * value;
    }
  }
  for (int l = 0; i + l < count; ++l) {
    const T value = term(i + l);
    lanes[l] += value * value;
  }
}

// The sum of term(i)² over i < count: of the lanes above, l and l + 8 are added, then l and l + 4,
// l and l + 2, l and l + 1. All in type T.
template <typename T, typename Term>
T sum_of_squared_terms(int64_t count, const Term& term) {
  T lanes[16];
  lanes_of_squared_terms<T>(count, term, lanes);
  for (int width = 8; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// The same of scale × values[i].
template <typename T>
T sum_of_squares(const float* values, int64_t count, T scale = 1) {
  return sum_of_squared_terms<T>(count,
                                 [=](int64_t i) { return scale * static_cast<T>(values[i]); });
}

}  // namespace millrace::MILLRACE_ISA

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_
