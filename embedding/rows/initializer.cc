#include "embedding/rows/initializer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/random/normal_quantile.h"
#include "base/status_macros.h"
#include "embedding/rows/initializer_kernels.h"
#include "embedding/rows/initializer_registry.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Distance from the mean, in standard deviations, beyond which a normal distribution has no mass in
// float64.
constexpr double kNormalTail = 8;
constexpr double kFarthest = 12;    // bound of the magnitude of quantiles
constexpr double kLeast = 0x1p-60;  // smallest probability of the search

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

// Returns the probability of values below x: the smallest float64 p whose quantile is at least x.
// Bisects over float64 bits, so that the result is as reproducible as the quantile.
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

// Returns the largest absolute value of the distribution.
double reach(const Distribution& distribution) {
  const InitializerNumbers& numbers = distribution.numbers;
  const double spread = numbers.scale * (distribution.kind == Kind::kNormal ? kFarthest : 1);
  const double low =
      distribution.kind == Kind::kNormal ? numbers.offset - std::fabs(spread) : numbers.offset;
  const double high = numbers.offset + std::fabs(spread);
  return std::max(std::fabs(std::max(low, numbers.lowest)),
                  std::fabs(std::min(high, numbers.highest)));
}

// The initializer of a built-in kind.
class DistributionInitializer : public RowInitializer {
 public:
  // `fill` is null for a constant, whose value is the offset.
  DistributionInitializer(FillRow fill, const InitializerNumbers& numbers)
      : fill_(fill), numbers_(numbers) {}

  void fill(int64_t id, absl::Span<float> row) const override {
    if (fill_ == nullptr) {
      std::fill(row.begin(), row.end(), static_cast<float>(numbers_.offset));
    } else {
      fill_(numbers_, id, row.data(), static_cast<int64_t>(row.size()));
    }
  }

 private:
  const FillRow fill_;
  const InitializerNumbers numbers_;
};

absl::Status check_uniform(absl::string_view where, const InitializerConfig& config) {
  const double low = config.uniform().low(), high = config.uniform().high();
  if (low <= high) return absl::OkStatus();
  return wrong(where, absl::StrCat("low ", low, " is above high ", high));
}

// Checks that the bounds leave a part of the normal distribution with mass.
absl::Status check_truncated(absl::string_view where, const InitializerConfig& config) {
  const double low = config.truncated_normal().low(), high = config.truncated_normal().high();
  if (low >= kNormalTail) return wrong_number(where, "low", low, "below 8");
  if (high <= -kNormalTail) return wrong_number(where, "high", high, "above -8");
  if (low < high) return absl::OkStatus();
  return wrong(where, absl::StrCat("low ", low, " is not below high ", high));
}

FillRow fill_of(Kind kind, InstructionSet instruction_set) {
  if (kind == Kind::kConstant) return nullptr;
  const InitializerKernels& kernels = initializer_kernels(instruction_set);
  return kind == Kind::kUniform ? kernels.uniform : kernels.normal;
}

// Returns the kind of `field`, whose values have the distribution that distribution_of(config, dim)
// returns. Errors of its factory: InvalidArgument for numbers that lead beyond float32.
template <typename DistributionOf>
InitializerRegistry::Kind distribution_kind(int field, DistributionOf distribution_of,
                                            KindCheck<InitializerConfig> check = {}) {
  const auto create =
      [=](const InitializerConfig& config, const RowInitializerInput& input,
          InstructionSet instruction_set) -> absl::StatusOr<std::unique_ptr<RowInitializer>> {
    Distribution distribution = distribution_of(config, input.dim);
    if (!(reach(distribution) <= std::numeric_limits<float>::max())) {
      return absl::InvalidArgumentError(
          absl::StrCat("initializer { ", config.ShortDebugString(), " } leads beyond float32"));
    }
    distribution.numbers.key = xxh3(input.table, input.seed);
    return std::make_unique<DistributionInitializer>(fill_of(distribution.kind, instruction_set),
                                                     distribution.numbers);
  };
  return {field, create, std::move(check)};
}

std::vector<InitializerRegistry::Kind> initializer_kinds() {
  // Each kind only maps its fields to a distribution, so that all kinds share the kernels and the
  // check of the range.
  return {
      distribution_kind(InitializerConfig::kConstant,
                        [](const auto& config, int64_t) {
                          const double value = config.constant().value();
                          Distribution result = uniform(value, value);
                          result.kind = Kind::kConstant;
                          return result;
                        }),
      distribution_kind(
          InitializerConfig::kUniform,
          [](const auto& config, int64_t) {
            return uniform(config.uniform().low(), config.uniform().high());
          },
          &check_uniform),
      distribution_kind(InitializerConfig::kNormal,
                        [](const auto& config, int64_t) {
                          return normal(config.normal().mean(), config.normal().stddev());
                        }),
      distribution_kind(
          InitializerConfig::kTruncatedNormal,
          [](const auto& config, int64_t) { return truncated_normal(config.truncated_normal()); },
          &check_truncated),
      distribution_kind(InitializerConfig::kXavier,
                        [](const auto& config, int64_t dim) {
                          return scaled(config.xavier().distribution(), config.xavier().gain(),
                                        dim);
                        }),
      distribution_kind(InitializerConfig::kKaiming,
                        [](const auto& config, int64_t dim) {
                          const double slope = config.kaiming().negative_slope();
                          const double gain = std::sqrt(2 / (1 + slope * slope));
                          return scaled(config.kaiming().distribution(), gain, dim);
                        }),
  };
}

}  // namespace

MILLRACE_PART_FAMILY(initializer, InitializerRegistry, "initializer",
                     "initializer { custom { name: \"NAME\" } }", "kind", initializer_kinds(),
                     InitializerConfig::kUniform);

absl::Status check_initializer(absl::string_view where, const InitializerConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  return initializer_registry().check(where, config);
}

absl::StatusOr<Initializer> Initializer::create(const InitializerOptions& options) {
  const std::string place = absl::StrCat("table ", options.table);
  RETURN_IF_ERROR(check_initializer("initializer", options.config), place);
  const RowInitializerInput input{std::string(options.table), options.seed, options.dim};
  ASSIGN_OR_RETURN(std::unique_ptr<RowInitializer> rows,
                   initializer_registry().create(options.config, input, options.instruction_set),
                   place);
  return Initializer(std::move(rows));
}

}  // namespace millrace
