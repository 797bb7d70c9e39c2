#include "job/best_check.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "framework/loop/best_score.h"
#include "hook/cadence.h"
#include "job/evaluation_cadence.h"
#include "job/metric_names.h"
#include "metrics/metric_direction.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/monitor_name.h"

namespace millrace {
namespace {

constexpr char kWhere[] = "run.evaluation.best";

struct ScoredSet {
  std::string name;
  Cadence when;
};

// Returns the sets of the terms, each once.
std::vector<ScoredSet> sets_of(const JobConfig& config) {
  std::set<std::string> names;
  for (const BestScoreConfig::Term& term : config.run().evaluation().best().term()) {
    names.emplace(set_of_monitor(term.monitor()));
  }
  std::vector<ScoredSet> sets;
  for (const EvaluationSetConfig& set : config.train().eval_data()) {
    if (names.count(set.name()) == 0) continue;
    sets.push_back({set.name(), set.data().has_windows()
                                    ? Cadence{.every_windows = 1}
                                    : evaluation_cadence(config.run().evaluation(), set.name())});
  }
  return sets;
}

// Returns true if all sets have the interval, so that common multiples evaluate all sets. Ignores
// limits, since a later run may raise them.
bool meet(const std::vector<ScoredSet>& sets, int64_t Cadence::*interval) {
  return std::all_of(sets.begin(), sets.end(),
                     [&](const ScoredSet& set) { return set.when.*interval > 0; });
}

// Returns true if the last step is a multiple, for a run that ends by the first of the limits.
bool is_due_at_end(const Cadence& when, const TrainConfig& train) {
  const auto ends = [](int64_t every, int64_t limit) {
    return every > 0 && limit > 0 && limit % every == 0;
  };
  return when.at_end || ends(when.every_steps, train.max_steps()) ||
         ends(when.every_epochs, train.max_epochs()) ||
         ends(when.every_windows, train.max_windows());
}

// Returns true if a step may have a score.
bool may_meet(const std::vector<ScoredSet>& sets, const TrainConfig& train) {
  const auto all = [&sets](const auto& is_due) {
    return std::all_of(sets.begin(), sets.end(),
                       [&](const ScoredSet& set) { return is_due(set.when); });
  };
  return meet(sets, &Cadence::every_steps) || meet(sets, &Cadence::every_epochs) ||
         meet(sets, &Cadence::every_windows) ||
         all([](const Cadence& when) { return when.every > absl::ZeroDuration(); }) ||
         all([](const Cadence& when) { return when.at_start; }) ||
         all([&](const Cadence& when) { return is_due_at_end(when, train); });
}

absl::Status check_cadences(const JobConfig& config) {
  const std::vector<ScoredSet> sets = sets_of(config);
  if (sets.size() < 2 || may_meet(sets, config.train())) return absl::OkStatus();
  return wrong(kWhere,
               absl::StrCat("its sets have no trigger in common, so that no step has a score: ",
                            absl::StrJoin(sets, "; ",
                                          [](std::string* out, const ScoredSet& set) {
                                            absl::StrAppend(out, set.name, " ",
                                                            set.when.to_string());
                                          }),
                            "; give run.evaluation.when and run.evaluation.set a trigger in "
                            "common"));
}

}  // namespace

absl::Status check_best(const JobConfig& config) {
  if (!config.run().evaluation().has_best()) return absl::OkStatus();
  BestScoreConfig best = config.run().evaluation().best();
  ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
  FieldErrors errors;
  for (int i = 0; i < best.term_size(); ++i) {
    const std::string& monitor = best.term(i).monitor();
    const std::string where = entry(absl::StrCat(kWhere, ".term"), i, monitor);
    if (!monitor.empty()) errors.add(names.check_of_checkpoints(where, monitor));
  }
  // A metric that does not exist may have no direction; the name is the only mistake.
  if (!errors.empty()) {
    best.set_higher_is_better(direction_of_monitor(best.term(0).monitor()) !=
                              MetricDirection::kLowerIsBetter);
  }
  errors.add(check_best_score(kWhere, best));
  if (errors.empty() && !names.hooks_may_evaluate()) errors.add(check_cadences(config));
  return errors.status();
}

}  // namespace millrace
