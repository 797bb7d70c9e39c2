// Sums over the columns of a row, with the same order on every machine. Kernels include this file,
// so its includes are restricted (see //bazel:isa_kernels.bzl).
#ifndef MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_
#define MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {

// Computes the sum of term(i)² over i < count in sixteen lanes: lane l adds the columns l, l + 16,
// l + 32, ... in order. Compilers keep this order, and it suits every vector width.
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

// Returns the sum of term(i)² over i < count. Adds the lanes of lanes_of_squared_terms(): lane l +
// 8 to l, then l + 4, l + 2 and l + 1. All arithmetic has type T.
template <typename T, typename Term>
T sum_of_squared_terms(int64_t count, const Term& term) {
  T lanes[16];
  lanes_of_squared_terms<T>(count, term, lanes);
  for (int width = 8; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

// Returns the sum of (scale × values[i])² over i < count, in the same order.
template <typename T>
T sum_of_squares(const float* values, int64_t count, T scale = 1) {
  return sum_of_squared_terms<T>(count,
                                 [=](int64_t i) { return scale * static_cast<T>(values[i]); });
}

}  // namespace millrace::MILLRACE_ISA

#endif  // MILLRACE_EMBEDDING_ROWS_ROW_MATH_H_
