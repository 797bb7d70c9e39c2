// Metrics by name: registration, traits, cutoffs in names, and directions.
#ifndef MILLRACE_METRICS_METRIC_REGISTRY_H_
#define MILLRACE_METRICS_METRIC_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/parts/part_registry.h"
#include "metrics/metric.h"
#include "proto/custom.pb.h"

namespace millrace {

// The use of a cutoff in the name of a metric.
enum class MetricCutoff { kNone, kOptional, kRequired };

// The parts of a name. A metric that needs a cutoff is registered as "BASE_at", so that "recall@10"
// and "recall" are different metrics.
struct CutoffName {
  absl::string_view base;
  std::optional<int64_t> cutoff;  // none: there is none, or it is not from 1 to 1000000
};

// Returns the parts of "BASE" or "BASE@CUTOFF". Borrows `name`.
CutoffName split_cutoff(absl::string_view name);

// Checks that `name`, "BASE" or "BASE@CUTOFF", has a cutoff where `cutoff` requires one, and none
// where it allows none. Errors: InvalidArgument, saying what to write.
absl::Status check_cutoff(absl::string_view name, MetricCutoff cutoff);

// The values of a metric that are better.
enum class MetricDirection { kNone, kHigherIsBetter, kLowerIsBetter };

// Properties of a kind of metric.
struct MetricTraits {
  // kNone: neither is better (calibration is best at 1).
  MetricDirection direction = MetricDirection::kNone;
  // If true, the metric has a meaning only for predictions in [0, 1].
  bool needs_probabilities = false;
  // If true, the metric has a value only if MetricInput::groups has the groups of all examples.
  bool needs_groups = false;
  // If true, the metric keeps every example, so that its memory grows until it is reset.
  bool keeps_examples = false;
  // If true, examples of weight 0 are left out and other weights do not matter.
  bool ignores_weights = false;
  // The use of a cutoff in the name, as in "ndcg@10".
  MetricCutoff cutoff = MetricCutoff::kNone;
  // The unit that the console shows after the value, such as "ms". Empty: none.
  std::string unit = "";
  // Digits after the decimal point on the console. Its moving line shows at most 4.
  int decimals = 5;
};

// Creates a metric. `config` has the name that the metric must have, with the cutoff if there is
// one, and the extension that the metric reads, if the configuration has it.
using MetricFactory =
    std::function<absl::StatusOr<std::unique_ptr<Metric>>(const CustomConfig& config)>;

// Returns the registry. It has the metrics of all linked libraries.
PartRegistry<MetricFactory>& metric_registry();

// Returns the name that a metric is registered under: for "BASE@10" "BASE_at" if there is such a
// metric, otherwise BASE.
std::string registered_metric_name(absl::string_view name);

// Returns the traits of a metric, whose name may have a cutoff; MetricTraits() for an unknown name.
MetricTraits traits_of_metric(absl::string_view name);

// Adds a metric. Called during static initialization by MILLRACE_REGISTER_METRIC.
bool register_metric(absl::string_view name, absl::string_view description, MetricFactory factory,
                     MetricTraits traits = {},
                     std::source_location place = std::source_location::current());

// Returns a new metric without options. See MILLRACE_REGISTER_METRIC.
template <typename MetricType>
absl::StatusOr<std::unique_ptr<Metric>> create_plain_metric(const CustomConfig&) {
  return std::make_unique<MetricType>();
}

// Returns the direction of the metric that create_metric() knows as `name`, or of "loss". kNone:
// the metric has no direction (calibration is best at 1), or there is no metric of that name.
MetricDirection direction_of_metric(absl::string_view name);

// Returns the direction of the metric of a monitor: "SET/METRIC" or "SET/LABEL/METRIC".
MetricDirection direction_of_monitor(absl::string_view monitor);

// Returns true if the metric of a monitor has the opposite direction.
bool contradicts(absl::string_view monitor, bool higher_is_better);

}  // namespace millrace

// Registers a metric. Used at namespace scope in a .cc whose cc_library has `alwayslink = True`:
//   MILLRACE_REGISTER_METRIC(hit_share, "share of positives found", &HitShareMetric::create,
//                            {.direction = MetricDirection::kLowerIsBetter});
// A metric without options has &create_plain_metric<HitShareMetric> in place of create().
#define MILLRACE_REGISTER_METRIC(name, description, ...)         \
  [[maybe_unused]] static const bool millrace_metric_##name##_ = \
      ::millrace::register_metric(#name, (description), __VA_ARGS__)

#endif  // MILLRACE_METRICS_METRIC_REGISTRY_H_
