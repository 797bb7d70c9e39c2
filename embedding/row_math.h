// Sums over the columns of a row, in one order on every machine.
#ifndef MILLRACE_EMBEDDING_ROW_MATH_H_
#define MILLRACE_EMBEDDING_ROW_MATH_H_

#include <cstdint>

namespace millrace {

// The sum of the squares of scale × values[i]: sixteen lanes, lane l takes the columns l, l + 16,
// l + 32, ... in order; then the lanes l and l + 8 are added, l and l + 4, l and l + 2, l and
// l + 1. All in type T. Compilers keep this order, and it fits any vector width.
template <typename T>
T sum_of_squares(const float* values, int64_t count, T scale = 1) {
  T lanes[16] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int l = 0; l < 16; ++l) {
      const T value = scale * static_cast<T>(values[i + l]);
      lanes[l] += value * value;
    }
  }
  for (int l = 0; i + l < count; ++l) {
    const T value = scale * static_cast<T>(values[i + l]);
    lanes[l] += value * value;
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROW_MATH_H_
