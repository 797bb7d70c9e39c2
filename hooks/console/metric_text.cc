#include "hooks/console/metric_text.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8/characters.h"
#include "metrics/metric_registry.h"

namespace millrace {
namespace {

constexpr absl::string_view kExamples = "examples";  // of a slice: their number

}  // namespace

bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals) {
  const auto logloss = metrics.find("logloss");
  const auto loss = metrics.find("loss");
  if (logloss == metrics.end() || loss == metrics.end()) return false;
  return absl::StrFormat("%.*f", decimals, logloss->second) ==
         absl::StrFormat("%.*f", decimals, loss->second);
}

std::string metric_text(absl::string_view name, double value, int most_decimals) {
  const absl::string_view metric = name.substr(name.rfind('/') + 1);
  const MetricTraits traits = traits_of_metric(metric);
  const int decimals = metric == kExamples ? 0 : std::min(traits.decimals, most_decimals);
  return absl::StrFormat("%s %.*f%s%s", name, decimals, value, traits.unit.empty() ? "" : " ",
                         traits.unit);
}

std::string metrics_text(absl::string_view title, const std::map<std::string, double>& metrics,
                         absl::string_view ending, int64_t columns) {
  const bool omits = logloss_repeats_loss(metrics, MetricTraits().decimals);
  std::string text(title);
  size_t line = count_characters(title);  // characters of the last line
  const auto add = [&](absl::string_view item) {
    const size_t length = 2 + count_characters(item);
    if (static_cast<int64_t>(line + length) > columns && line > 0) {
      text += '\n';
      line = 0;
    }
    absl::StrAppend(&text, "  ", item);
    line += length;
  };
  for (const auto& [name, value] : metrics) {
    if (omits && name == "logloss") continue;
    add(metric_text(name, value, std::numeric_limits<int>::max()));
  }
  if (!ending.empty()) add(ending);
  return text;
}

}  // namespace millrace
