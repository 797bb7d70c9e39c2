// Compiled once for each instruction set: see //bazel:isa_kernels.bzl for what may be included.
#include "io/transform/kernels/log1p_kernels.h"

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {
namespace {

constexpr uint64_t kSqrtHalfBits = 0x3fe6a09e667f3bcdULL;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// artanh(s) - s divided by s, for z = s * s <= 0.0295, where the terms beyond are below 1e-18.
double artanh_tail(double z) {
  double sum = 1.0 / 21;
  sum = 1.0 / 19 + z * sum;
  sum = 1.0 / 17 + z * sum;
  sum = 1.0 / 15 + z * sum;
  sum = 1.0 / 13 + z * sum;
  sum = 1.0 / 11 + z * sum;
  sum = 1.0 / 9 + z * sum;
  sum = 1.0 / 7 + z * sum;
  sum = 1.0 / 5 + z * sum;
  sum = 1.0 / 3 + z * sum;
  return z * sum;
}

}  // namespace

void signed_log1p(double* numbers, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const double x = __builtin_fabs(numbers[i]);
    const double u = 1 + x;
    const double lost = x - (u - 1);
    const uint64_t bits = __builtin_bit_cast(uint64_t, u);
    const uint64_t exponent = (bits - kSqrtHalfBits) >> 52;
    const double m = __builtin_bit_cast(double, bits - (exponent << 52));
    // The bits of 2^52 + exponent: all sets have no conversion of 64-bit integers.
    const double k = __builtin_bit_cast(double, exponent | 0x4330000000000000ULL) - 0x1p52;
    const double s = (m - 1) / (m + 1);
    const double log = 2 * s + (2 * s * artanh_tail(s * s) + lost / u);
    numbers[i] = __builtin_copysign(k * kLn2 + log, numbers[i]);
  }
}

}  // namespace millrace::MILLRACE_ISA
