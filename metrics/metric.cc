#include "metrics/metric.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "metrics/auc.h"
#include "metrics/metric_registry.h"
#include "metrics/probability_metrics.h"
#include "proto/config_variables.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

// Returns how a list names a metric: "ndcg@10" for ndcg_at.
std::string listed_name(const std::string& name) {
  if (traits_of_metric(name).cutoff != MetricCutoff::kRequired) return name;
  return absl::StrCat(absl::StripSuffix(name, "_at"), "@10");
}

}  // namespace

std::vector<std::string> metric_names() { return metric_registry().names(); }

absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name,
                                                      absl::Span<const CustomConfig> configs) {
  const std::string base = registered_metric_name(name);
  if (metric_registry().find(base) == nullptr) {
    std::vector<std::string> names;
    for (const std::string& known : metric_names()) names.push_back(listed_name(known));
    const std::string with_cutoff = absl::StrCat(base, "_at");
    const std::string near = metric_registry().find(with_cutoff) != nullptr
                                 ? listed_name(with_cutoff)
                                 : nearest(name, names);
    return absl::NotFoundError(
        absl::StrCat("no metric \"", name, "\"",
                     near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
                     "; known: ", absl::StrJoin(names, ", ")));
  }
  RETURN_IF_ERROR(check_cutoff(name, traits_of_metric(base).cutoff));
  const auto found = std::find_if(configs.begin(), configs.end(), [&](const CustomConfig& config) {
    return config.name() == base;
  });
  ASSIGN_OR_RETURN(CustomConfig config,
                   with_secrets(absl::StrCat("metric \"", base, "\""),
                                found == configs.end() ? CustomConfig() : *found));
  config.set_name(std::string(name));
  RETURN_IF_ERROR(check_extension_ranges(absl::StrCat("metric \"", base, "\""), config, base));
  ASSIGN_OR_RETURN(std::unique_ptr<Metric> metric, metric_registry().create(base, config));
  // Reports and checkpoints find values by this name.
  if (metric->name() == name) return metric;
  return absl::InternalError(
      absl::StrCat("metric \"", name, "\": its name() is \"", metric->name(), "\""));
}

std::vector<std::unique_ptr<Metric>> binary_metrics() {
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(std::make_unique<AucMetric>());
  metrics.push_back(std::make_unique<LogLossMetric>());
  metrics.push_back(std::make_unique<NormalizedEntropyMetric>());
  metrics.push_back(std::make_unique<CalibrationMetric>());
  return metrics;
}

}  // namespace millrace
