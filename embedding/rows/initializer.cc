#include "embedding/rows/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/random/normal_quantile.h"
#include "base/status_macros.h"
#include "embedding/rows/initializer_check.h"
#include "embedding/rows/initializer_registry.h"

namespace millrace {
namespace {

constexpr double kFarthest = 12;    // no quantile is farther
constexpr double kLeast = 0x1p-60;  // of the probabilities that the search looks at

enum class Kind { kConstant, kUniform, kNormal };

struct Distribution {
  Kind kind = Kind::kUniform;
  InitializerNumbers numbers;
};

Distribution uniform(double low, double high) {
  Distribution result;
  result.numbers.offset = low;
  result.numbers.scale = high - low;
  return result;
}

Distribution normal(double mean, double stddev) {
  Distribution result;
  result.kind = Kind::kNormal;
  result.numbers.offset = mean;
  result.numbers.scale = stddev;
  return result;
}

// The probability of what is below x: the least p whose quantile is at least x, by bisection over
// the numbers there are, so that it is as reproducible as the quantile.
double probability_below(double x) {
  if (x <= -kNormalTail) return 0;
  if (x > 0) return 1 - probability_below(-x);
  uint64_t low = std::bit_cast<uint64_t>(kLeast), high = std::bit_cast<uint64_t>(0.5);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (standard_normal_quantile(std::bit_cast<double>(middle)) >= x) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return std::bit_cast<double>(low);
}

Distribution truncated_normal(const TruncatedNormalInitializer& config) {
  Distribution result = normal(config.mean(), config.stddev());
  InitializerNumbers& numbers = result.numbers;
  numbers.lowest = config.mean() + config.stddev() * config.low();
  numbers.highest = config.mean() + config.stddev() * config.high();
  double low = config.low(), high = config.high();
  if (low > 0) {
    numbers.scale = -config.stddev();
    low = -config.high();
    high = -config.low();
  }
  numbers.from = probability_below(low);
  numbers.width = probability_below(high) - numbers.from;
  return result;
}

Distribution scaled(InitializerConfig::Distribution distribution, double gain, int64_t dim) {
  const auto fan = static_cast<double>(dim);
  if (distribution == InitializerConfig::NORMAL) return normal(0, gain / std::sqrt(fan));
  const double bound = gain * std::sqrt(3 / fan);
  return uniform(-bound, bound);
}

Distribution distribution_of(const InitializerConfig& config, int64_t dim) {
  switch (config.kind_case()) {
    case InitializerConfig::kConstant: {
      Distribution result = uniform(config.constant().value(), config.constant().value());
      result.kind = Kind::kConstant;
      return result;
    }
    case InitializerConfig::kNormal:
      return normal(config.normal().mean(), config.normal().stddev());
    case InitializerConfig::kTruncatedNormal: return truncated_normal(config.truncated_normal());
    case InitializerConfig::kXavier:
      return scaled(config.xavier().distribution(), config.xavier().gain(), dim);
    case InitializerConfig::kKaiming: {
      const double slope = config.kaiming().negative_slope();
      return scaled(config.kaiming().distribution(), std::sqrt(2 / (1 + slope * slope)), dim);
    }
    case InitializerConfig::kUniform:
    case InitializerConfig::kCustom:
    case InitializerConfig::KIND_NOT_SET: break;
  }
  return uniform(config.uniform().low(), config.uniform().high());
}

// The largest absolute value it may give.
double reach(const Distribution& distribution) {
  const InitializerNumbers& numbers = distribution.numbers;
  const double spread = numbers.scale * (distribution.kind == Kind::kNormal ? kFarthest : 1);
  const double low =
      distribution.kind == Kind::kNormal ? numbers.offset - std::fabs(spread) : numbers.offset;
  const double high = numbers.offset + std::fabs(spread);
  return std::max(std::fabs(std::max(low, numbers.lowest)),
                  std::fabs(std::min(high, numbers.highest)));
}

}  // namespace

absl::StatusOr<Initializer> Initializer::create_custom(const InitializerOptions& options) {
  const CustomConfig& config = options.config.custom();
  Initializer result(nullptr, {});
  ASSIGN_OR_RETURN(
      result.custom_,
      initializer_registry().create(
          config, RowInitializerInput{std::string(options.table), options.seed, options.dim}),
      absl::StrCat("table ", options.table));
  return result;
}

absl::StatusOr<Initializer> Initializer::create(const InitializerOptions& options) {
  RETURN_IF_ERROR(check_initializer("initializer", options.config),
                  absl::StrCat("table ", options.table));
  if (options.config.has_custom()) return create_custom(options);
  Distribution distribution = distribution_of(options.config, options.dim);
  if (!(reach(distribution) <= std::numeric_limits<float>::max())) {
    return absl::InvalidArgumentError(absl::StrCat("table ", options.table, ": initializer { ",
                                                   options.config.ShortDebugString(),
                                                   " } leads beyond float32"));
  }
  distribution.numbers.key = xxh3(options.table, options.seed);
  const InitializerKernels& kernels = initializer_kernels(options.instruction_set);
  switch (distribution.kind) {
    case Kind::kConstant: return Initializer(nullptr, distribution.numbers);
    case Kind::kUniform: return Initializer(kernels.uniform, distribution.numbers);
    case Kind::kNormal: break;
  }
  return Initializer(kernels.normal, distribution.numbers);
}

void Initializer::fill(int64_t id, absl::Span<float> row) const {
  if (custom_ != nullptr) return custom_->fill(id, row);
  if (fill_ == nullptr) {
    std::fill(row.begin(), row.end(), static_cast<float>(numbers_.offset));
  } else {
    fill_(numbers_, id, row.data(), static_cast<int64_t>(row.size()));
  }
}

}  // namespace millrace
