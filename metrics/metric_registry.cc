#include "metrics/metric_registry.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace millrace {
namespace {

constexpr int64_t kMostCutoff = 1000000;

}  // namespace

CutoffName split_cutoff(absl::string_view name) {
  const size_t at = name.find('@');
  CutoffName parts{name.substr(0, at), std::nullopt};
  int64_t cutoff = 0;
  if (at != name.npos && absl::SimpleAtoi(name.substr(at + 1), &cutoff) && cutoff >= 1 &&
      cutoff <= kMostCutoff && absl::StrCat(cutoff) == name.substr(at + 1)) {
    parts.cutoff = cutoff;
  }
  return parts;
}

absl::Status check_cutoff(absl::string_view name, MetricCutoff cutoff) {
  const CutoffName parts = split_cutoff(name);
  const bool has = parts.base.size() < name.size();
  if (has && cutoff == MetricCutoff::kNone) {
    return absl::InvalidArgumentError(absl::StrCat("metric \"", name, "\": ", parts.base,
                                                   " takes no cutoff; remove \"",
                                                   name.substr(parts.base.size()), "\""));
  }
  if (has && !parts.cutoff.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("metric \"", name, "\": the cutoff is \"", name.substr(parts.base.size() + 1),
                     "\"; it must be a whole number from 1 to ", kMostCutoff));
  }
  if (!has && cutoff == MetricCutoff::kRequired) {
    return absl::InvalidArgumentError(absl::StrCat("metric \"", name, "\" needs a cutoff: write ",
                                                   absl::StripSuffix(name, "_at"),
                                                   "@10 for the first 10 examples of each group"));
  }
  return absl::OkStatus();
}

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

MetricDirection direction_of_metric(absl::string_view name) {
  return name == "loss" ? MetricDirection::kLowerIsBetter : traits_of_metric(name).direction;
}

MetricDirection direction_of_monitor(absl::string_view monitor) {
  return direction_of_metric(monitor.substr(monitor.rfind('/') + 1));
}

bool contradicts(absl::string_view monitor, bool higher_is_better) {
  return direction_of_monitor(monitor) ==
         (higher_is_better ? MetricDirection::kLowerIsBetter : MetricDirection::kHigherIsBetter);
}

}  // namespace millrace
