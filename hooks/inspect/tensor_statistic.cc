#include "hooks/inspect/tensor_statistic.h"

#include <limits>

#include "absl/strings/ascii.h"

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

}  // namespace millrace
