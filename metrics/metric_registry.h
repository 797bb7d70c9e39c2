// Metrics by name.
#ifndef MILLRACE_METRICS_METRIC_REGISTRY_H_
#define MILLRACE_METRICS_METRIC_REGISTRY_H_

#include <functional>
#include <memory>
#include <source_location>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/parts/part_registry.h"
#include "metrics/metric.h"
#include "proto/custom.pb.h"

namespace millrace {

// The values of a metric that are better.
enum class MetricDirection { kNone, kHigherIsBetter, kLowerIsBetter };

// Properties of a metric that are known without one.
struct MetricTraits {
  // kNone: neither is better (calibration is best at 1).
  MetricDirection direction = MetricDirection::kNone;
  // If true, the metric has a meaning for predictions in [0, 1] alone.
  bool needs_probabilities = false;
};

// Makes a metric. `config` has the extension that the metric reads, or nothing but the name.
using MetricFactory =
    std::function<absl::StatusOr<std::unique_ptr<Metric>>(const CustomConfig& config)>;

// Returns the registry, which has the built-in metrics, too.
PartRegistry<MetricFactory>& metric_registry();

// Returns the traits of a metric; those of MetricTraits() for an unknown name.
MetricTraits traits_of_metric(absl::string_view name);

// Adds a metric. Called during static initialization by MILLRACE_REGISTER_METRIC.
bool register_metric(absl::string_view name, absl::string_view description, MetricFactory factory,
                     MetricTraits traits = {},
                     std::source_location place = std::source_location::current());

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_METRIC(hit_share, "share of positives found", &HitShareMetric::create,
//                            {.direction = MetricDirection::kLowerIsBetter});
#define MILLRACE_REGISTER_METRIC(name, description, ...)         \
  [[maybe_unused]] static const bool millrace_metric_##name##_ = \
      ::millrace::register_metric(#name, (description), __VA_ARGS__)

#endif  // MILLRACE_METRICS_METRIC_REGISTRY_H_
