#include "hooks/inspect/tensor_statistic.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/types/span.h"

namespace millrace {
namespace {

double share(int64_t count, int64_t of) {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

}  // namespace

std::string statistic_name(WatchTensorsConfig::Statistic statistic) {
  return absl::AsciiStrToLower(WatchTensorsConfig::Statistic_Name(statistic));
}

double tensor_statistic(WatchTensorsConfig::Statistic statistic, const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach();
  if (statistic == WatchTensorsConfig::ZERO_SHARE) {
    return share(values.eq(0).sum().item<int64_t>(), values.numel());
  }
  if (statistic == WatchTensorsConfig::NON_FINITE_COUNT) {
    return static_cast<double>(values.numel() - values.isfinite().sum().item<int64_t>());
  }
  const at::Tensor exact = values.to(at::kDouble);
  if (statistic == WatchTensorsConfig::NORM) return exact.norm().item<double>();
  if (exact.numel() == 0) return std::numeric_limits<double>::quiet_NaN();
  switch (statistic) {
    case WatchTensorsConfig::MEAN: return exact.mean().item<double>();
    case WatchTensorsConfig::STD: return exact.std(/*unbiased=*/false).item<double>();
    case WatchTensorsConfig::MIN: return exact.min().item<double>();
    case WatchTensorsConfig::MAX: return exact.max().item<double>();
    default: return exact.abs().max().item<double>();
  }
}

namespace {

constexpr size_t kBins = 30;

// Computes everything but the bins.
Distribution moments(absl::Span<const float> elements) {
  Distribution result;
  for (const float element : elements) {
    if (!std::isfinite(element)) {
      ++result.not_finite;
      continue;
    }
    const double value = element;
    if (result.count == 0) result.min = result.max = value;
    ++result.count;
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
    result.sum += value;
    result.sum_of_squares += value * value;
  }
  return result;
}

}  // namespace

Distribution tensor_distribution(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const absl::Span<const float> elements =
      absl::MakeConstSpan(plain.const_data_ptr<float>(), static_cast<size_t>(plain.numel()));
  Distribution result = moments(elements);
  if (result.count == 0) return result;
  if (result.min == result.max) {
    result.limits = {result.min - 0.5, result.max + 0.5};
    result.counts = {0, result.count};
    return result;
  }
  const double width = (result.max - result.min) / kBins;
  for (size_t bin = 1; bin < kBins; ++bin) {
    result.limits.push_back(result.min + width * static_cast<double>(bin));
  }
  result.limits.push_back(result.max);
  result.counts.assign(kBins, 0);
  for (const float element : elements) {
    if (!std::isfinite(element)) continue;
    // Rounding may miss the bin by one.
    auto bin = std::min(kBins - 1, static_cast<size_t>((element - result.min) / width));
    if (bin > 0 && element <= result.limits[bin - 1]) --bin;
    if (element > result.limits[bin]) ++bin;
    ++result.counts[bin];
  }
  return result;
}

}  // namespace millrace
