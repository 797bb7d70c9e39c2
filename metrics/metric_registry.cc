#include "metrics/metric_registry.h"

#include <map>
#include <string>
#include <utility>

namespace millrace {
namespace {

using Traits = std::map<std::string, MetricTraits, std::less<>>;

Traits& traits() {
  static auto* const traits = new Traits;
  return *traits;
}

}  // namespace

MILLRACE_PART_FAMILY(metric, PartRegistry<MetricFactory>, "metric", "metric: \"NAME\"");

std::string registered_metric_name(absl::string_view name) {
  const absl::string_view base = split_cutoff(name).base;
  std::string with_cutoff = absl::StrCat(base, "_at");
  const bool found = base.size() < name.size() && metric_registry().find(with_cutoff) != nullptr;
  return found ? with_cutoff : std::string(base);
}

MetricTraits traits_of_metric(absl::string_view name) {
  const auto found = traits().find(registered_metric_name(name));
  return found == traits().end() ? MetricTraits() : found->second;
}

bool register_metric(absl::string_view name, absl::string_view description, MetricFactory factory,
                     MetricTraits metric, std::source_location place) {
  traits().emplace(name, metric);
  return metric_registry().add(name, description, std::move(factory), place);
}

}  // namespace millrace
