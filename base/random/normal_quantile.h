// The inverse of the normal distribution function. Kernels include this header, so it includes only
// plain headers.
#ifndef MILLRACE_BASE_RANDOM_NORMAL_QUANTILE_H_
#define MILLRACE_BASE_RANDOM_NORMAL_QUANTILE_H_

#include <cstdint>

#include "base/isa/isa_namespace.h"

namespace millrace::MILLRACE_ISA {

// The rational approximation of P. Acklam, "An algorithm for computing the inverse normal
// cumulative distribution function" (2003), with a relative error below 1.15e-9. Uses only + − × ÷
// and square roots in double, so that results are equal to the last bit on every machine without
// contraction of products.

// ln(x) for normal x in (0, 1]: x = m × 2^e with m in [√½, √2), and ln m = 2 atanh(s),
// s = (m − 1) / (m + 1), by its series (|s| < 0.172: 11 terms reach 1e-17).
inline double quantile_log(double x) {
  const auto bits = __builtin_bit_cast(uint64_t, x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  constexpr double kSeries[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
  double sum = 0.0;
  for (const double term : kSeries) sum = sum * z + term;
  return 2.0 * s * sum + exponent * 0.6931471805599453;
}

// Returns true if p is in a tail, where another approximation holds: outside [0.02425, 1 −
// 0.02425].
inline bool in_quantile_tail(double p) { return (p < 0.02425) | (p > 1.0 - 0.02425); }

// Returns the quantile at p in (0, 1) outside the tails.
inline double central_quantile(double p) {
  const double q = p - 0.5;
  const double r = q * q;
  double a = -3.969683028665376e+01;
  a = a * r + 2.209460984245205e+02;
  a = a * r + -2.759285104469687e+02;
  a = a * r + 1.383577518672690e+02;
  a = a * r + -3.066479806614716e+01;
  a = a * r + 2.506628277459239e+00;
  double b = -5.447609879822406e+01;
  b = b * r + 1.615858368580409e+02;
  b = b * r + -1.556989798598866e+02;
  b = b * r + 6.680131188771972e+01;
  b = b * r + -1.328068155288572e+01;
  b = b * r + 1.0;
  return a * q / b;
}

// Returns the quantile at p in a tail.
inline double tail_quantile(double p) {
  const bool lower = p < 0.5;
  const double q = __builtin_sqrt(-2.0 * quantile_log(lower ? p : 1.0 - p));
  double c = -7.784894002430293e-03;
  c = c * q + -3.223964580411365e-01;
  c = c * q + -2.400758277161838e+00;
  c = c * q + -2.549732539343734e+00;
  c = c * q + 4.374664141464968e+00;
  c = c * q + 2.938163982698783e+00;
  double d = 7.784695709041462e-03;
  d = d * q + 3.224671290700398e-01;
  d = d * q + 2.445134137142996e+00;
  d = d * q + 3.754408661907416e+00;
  d = d * q + 1.0;
  return lower ? c / d : -(c / d);
}

// REQUIRES: p in (0, 1), at least 1e-300.
inline double standard_normal_quantile(double p) {
  return in_quantile_tail(p) ? tail_quantile(p) : central_quantile(p);
}

}  // namespace millrace::MILLRACE_ISA

#endif  // MILLRACE_BASE_RANDOM_NORMAL_QUANTILE_H_
