#include "io/mix/mix_shares.h"

#include <cmath>
#include <numeric>

namespace millrace {
namespace {

constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // (sqrt(5) - 1) / 2, times 2^64

// Sums of proportions that should be whole may miss it by rounding.
double snap(double position) {
  const double whole = std::round(position);
  return std::abs(position - whole) <= 1e-9 * (1 + whole) ? whole : position;
}

}  // namespace

std::vector<int64_t> mix_shares(absl::Span<const double> proportions, int64_t size,
                                uint64_t index) {
  const double total = std::accumulate(proportions.begin(), proportions.end(), 0.0);
  const double offset = static_cast<double>(index * kGoldenRatio >> 11) * 0x1p-53;
  std::vector<int64_t> shares;
  double sum = 0;
  int64_t before = 0;  // points on the line so far
  for (const double proportion : proportions) {
    sum += proportion;
    const double end = snap(static_cast<double>(size) * (sum / total));
    const auto points = static_cast<int64_t>(std::floor(end + offset));
    shares.push_back(points - before);
    before = points;
  }
  return shares;
}

}  // namespace millrace
