// Metrics in lines for people.
#ifndef MILLRACE_HOOKS_CONSOLE_METRIC_TEXT_H_
#define MILLRACE_HOOKS_CONSOLE_METRIC_TEXT_H_

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true if `logloss` and `loss` exist and have the same text with `decimals` decimals, so
// that a line needs only one of the two.
bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals);

// Returns "NAME VALUE UNIT" with the unit and decimals of MetricTraits, with at most
// `most_decimals`. `name` may begin with the label, slice or span of the metric.
std::string metric_text(absl::string_view name, double value, int most_decimals);

// Returns `title`, the metric_text() of each metric, and `ending` unless empty, each after two
// spaces: "eval:  auc 0.76700  loss 0.47220  examples 500". Omits a logloss that repeats the loss.
// Each slice has a line below: "  country=7:  auc 0.74100  examples 60". A line longer than
// `columns` characters is broken, and the next line begins with two spaces.
std::string metrics_text(absl::string_view title, const std::map<std::string, double>& metrics,
                         absl::string_view ending,
                         int64_t columns = std::numeric_limits<int64_t>::max());

// Returns "no row: items 12.3 %, users 2.1 %", the tables with the largest shares of lookups whose
// ids have no row first; omits shares below 0.5 %, and is "" without any other.
std::string unknown_ids_text(const std::map<std::string, double>& shares);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CONSOLE_METRIC_TEXT_H_
