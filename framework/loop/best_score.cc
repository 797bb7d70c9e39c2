#include "framework/loop/best_score.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "metrics/metric_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {

bool BestScore::observe(const std::map<std::string, double>& metrics, int64_t step) {
  if (options_.terms.empty()) return false;
  double sum = 0, weights = 0;
  for (const BestScoreOptions::Term& term : options_.terms) {
    const auto metric = metrics.find(term.monitor);
    if (metric == metrics.end()) return false;
    sum += term.weight * metric->second;
    weights += term.weight;
  }
  const double value = sum / weights;
  if (!std::isfinite(value)) return false;
  const bool better = !best_.has_value() ||
                      (options_.higher_is_better ? value > best_->value : value < best_->value);
  if (better) best_ = Best{value, step};
  return better;
}

std::string BestScore::name() const {
  const bool weighted = options_.terms.size() > 1;
  const std::string terms = absl::StrJoin(
      options_.terms, " + ", [weighted](std::string* out, const BestScoreOptions::Term& term) {
        absl::StrAppend(out, weighted ? absl::StrCat(term.weight, " ") : "", term.monitor);
      });
  return absl::StrCat(weighted ? "mean of " : "", terms, ", ",
                      options_.higher_is_better ? "higher" : "lower", " is better");
}

void BestScore::save(SharedState* state) const {
  if (!best_.has_value()) return;
  CheckpointManifest::BestScore& best = *state->mutable_best();
  best.set_score(name());
  best.set_value(best_->value);
  best.set_step(best_->step);
}

void BestScore::restore(const SharedState& state, std::vector<std::string>* notes) {
  best_.reset();
  if (!state.has_best()) return;
  if (options_.terms.empty()) {
    notes->push_back(
        absl::StrCat("the best score of the checkpoint is dropped, since the job keeps "
                     "none; the checkpoint of step ",
                     state.best().step(), " is no longer retained for it"));
    return;
  }
  if (state.best().score() == name()) {
    best_ = Best{state.best().value(), state.best().step()};
    return;
  }
  notes->push_back(absl::StrCat("the best score is reset: it was of ", state.best().score(),
                                "; it is of ", name(), ". The checkpoint of step ",
                                state.best().step(), " is no longer retained for it"));
}

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
    errors.add(check_ranges(place, term));
  }
  if (errors.empty()) errors.add(check_directions(where, config));
  return errors.status();
}

}  // namespace millrace
