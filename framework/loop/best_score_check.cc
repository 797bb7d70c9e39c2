#include "framework/loop/best_score_check.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "metrics/metric_direction.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

// Returns the monitors of the terms whose metrics have this direction.
std::vector<std::string> monitors_of(const BestScoreConfig& config, MetricDirection direction) {
  std::vector<std::string> monitors;
  for (const BestScoreConfig::Term& term : config.term()) {
    if (direction_of_monitor(term.monitor()) == direction) monitors.push_back(term.monitor());
  }
  return monitors;
}

absl::Status check_directions(absl::string_view where, const BestScoreConfig& config) {
  const auto higher = monitors_of(config, MetricDirection::kHigherIsBetter);
  const auto lower = monitors_of(config, MetricDirection::kLowerIsBetter);
  if (!higher.empty() && !lower.empty()) {
    return wrong(where,
                 absl::StrCat("term: higher values of ", absl::StrJoin(higher, ", "),
                              " are better, but lower values of ", absl::StrJoin(lower, ", "),
                              "; a score has terms of one direction"));
  }
  const auto& contrary = config.higher_is_better() ? lower : higher;
  if (config.has_higher_is_better() && !contrary.empty()) {
    return wrong(where,
                 absl::StrCat("higher_is_better is ",
                              config.higher_is_better() ? "true, but lower" : "false, but higher",
                              " values of ", absl::StrJoin(contrary, ", "), " are better"));
  }
  const auto none = monitors_of(config, MetricDirection::kNone);
  if (!none.empty() && !config.has_higher_is_better()) {
    return wrong(where, absl::StrCat("higher_is_better is missing; ", absl::StrJoin(none, ", "),
                                     " has no direction, so set it to true or false"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<bool> higher_is_better(const BestScoreConfig& config) {
  if (config.has_higher_is_better()) return config.higher_is_better();
  const auto count = static_cast<size_t>(config.term_size());
  if (count == 0) return std::nullopt;
  if (monitors_of(config, MetricDirection::kHigherIsBetter).size() == count) return true;
  if (monitors_of(config, MetricDirection::kLowerIsBetter).size() == count) return false;
  return std::nullopt;
}

absl::Status check_best_score(absl::string_view where, const BestScoreConfig& config) {
  FieldErrors errors;
  if (config.term().empty()) {
    errors.add(
        wrong(where, "term is missing; give at least one, such as { monitor: \"eval/auc\" }"));
  }
  std::set<std::string> monitors;
  for (int i = 0; i < config.term_size(); ++i) {
    const BestScoreConfig::Term& term = config.term(i);
    const std::string place = entry(absl::StrCat(where, ".term"), i, term.monitor());
    if (term.monitor().empty()) {
      errors.add(wrong(place, "monitor is missing; set it to SET/METRIC, such as eval/auc"));
    } else if (!monitors.insert(term.monitor()).second) {
      errors.add(wrong(place, "the monitor is that of a term before it; give it a larger weight"));
    }
    if (!std::isfinite(term.weight()) || term.weight() <= 0) {
      errors.add(wrong_number(place, "weight", term.weight(), "above 0 and finite"));
    }
  }
  if (errors.empty()) errors.add(check_directions(where, config));
  return errors.status();
}

}  // namespace millrace
