#include "base/philox.h"

#include <bit>
#include <cmath>

namespace millrace {
namespace {

// ln(x) for x in (0, 1]: x = m * 2^e with m in [sqrt(1/2), sqrt(2)), and
// ln m = 2 atanh(s), s = (m - 1) / (m + 1), by its series (|s| < 0.172: 11 terms reach 1e-17).
double natural_log(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
  return 2.0 * s * sum + exponent * 0.6931471805599453;
}

double polynomial(const double* coefficients, int count, double x) {
  double value = coefficients[0];
  for (int i = 1; i < count; ++i) value = value * x + coefficients[i];
  return value;
}

// Coefficients of P. Acklam, "An algorithm for computing the inverse normal cumulative
// distribution function" (2003).
constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02,
                         1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                         6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                         -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                         3.754408661907416e+00, 1.0};
constexpr double kLow = 0.02425;

double lower_tail(double p) {
  const double q = std::sqrt(-2.0 * natural_log(p));
  return polynomial(kC, 6, q) / polynomial(kD, 5, q);
}

}  // namespace

double normal_quantile(uint32_t bits) {
  const double p = (bits + 0.5) * 0x1p-32;
  if (p < kLow) return lower_tail(p);
  if (p > 1.0 - kLow) return -lower_tail(1.0 - p);
  const double q = p - 0.5;
  const double r = q * q;
  return polynomial(kA, 6, r) * q / polynomial(kB, 6, r);
}

}  // namespace millrace
