#include "job/monitor_check.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "config/training_size.h"
#include "framework/loop/best_score.h"
#include "hook/cadence.h"
#include "hooks/early_stopping_hook.h"
#include "hooks/mllog_hook.h"
#include "hooks/publish_hook.h"
#include "job/metric_names.h"
#include "job/report/report_options.h"
#include "metrics/metric_registry.h"
#include "optim/schedule/schedule_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/hook_configs.pb.h"
#include "proto/inspection_hook_configs.pb.h"
#include "proto/monitor_name.h"
#include "proto/optimizer_list.h"

namespace millrace {
namespace {

constexpr char kMonitor[] = "monitor";  // a field

// Checks that a schedule does not treat improvements as deteriorations.
absl::Status check_direction(const PlacedSchedule& placed) {
  const ReduceOnPlateauScheduleConfig& plateau = placed.schedule.reduce_on_plateau();
  const bool is_max = plateau.mode() == ReduceOnPlateauScheduleConfig::MAX;
  if (!contradicts(plateau.monitor(), is_max)) return absl::OkStatus();
  return wrong(placed.where,
               absl::StrCat("mode is ", is_max ? "MAX" : "MIN", ", but ",
                            is_max ? "lower" : "higher", " values of ", plateau.monitor(),
                            " are better; set mode: ", is_max ? "MIN" : "MAX"));
}

}  // namespace

absl::Status check_monitors(const JobConfig& config) {
  FieldErrors errors;
  std::optional<MetricNames> names;  // made for the first monitor
  using Check = absl::Status (MetricNames::*)(absl::string_view, absl::string_view) const;
  const auto check_name = [&](const std::string& where, const char* field,
                              const std::string& metric, Check check) -> absl::Status {
    if (!names.has_value()) {
      ASSIGN_OR_RETURN(const MetricNames made, MetricNames::create(config));
      names.emplace(made);
    }
    return ((*names).*check)(absl::StrCat(where, ": ", field, " \"", metric, "\""), metric);
  };
  const auto check_monitored = [&](const std::string& where, const char* field,
                                   const std::string& monitor) {
    return check_name(where, field, monitor, &MetricNames::check_monitored);
  };
  for (int i = 0; i < config.run().hooks_size(); ++i) {
    const HookConfig& hook = config.run().hooks(i);
    const std::string& accuracy = hook.GetExtension(mllog).accuracy();
    if (hook.name() == MllogHook::kName && names_metric(accuracy)) {
      errors.add(check_name(entry("run.hooks", i, hook.name()), "accuracy", accuracy,
                            &MetricNames::check_evaluated));
    }
    const std::string& gate = hook.GetExtension(publish).monitor();
    if (hook.name() == PublishHook::kName && names_metric(gate)) {
      errors.add(check_name(entry("run.hooks", i, hook.name()), kMonitor, gate,
                            &MetricNames::check_of_checkpoints));
    }
    if (hook.name() != EarlyStoppingHook::kName) continue;
    errors.add(wrong(entry("run.hooks", i, EarlyStoppingHook::kName),
                     "it decides when training ends, so it belongs in train.hooks"));
  }
  for (int i = 0; i < config.train().hooks_size(); ++i) {
    const HookConfig& hook = config.train().hooks(i);
    if (hook.name() != EarlyStoppingHook::kName) continue;
    const std::string where = entry("train.hooks", i, hook.name());
    EarlyStoppingConfig stopping = hook.GetExtension(early_stopping);
    if (names_metric(stopping.monitor())) {
      const absl::Status known = check_monitored(where, kMonitor, stopping.monitor());
      errors.add(known);
      // A metric that does not exist has no direction; the name is the only mistake.
      if (!known.ok() && !higher_is_better(stopping).has_value()) {
        stopping.set_mode(EarlyStoppingConfig::MAX);
      }
    }
    errors.add(check_stopping_monitor(where, stopping));
  }
  for (const PlacedSchedule& placed : schedules_of(config.train())) {
    if (placed.schedule.has_reduce_on_plateau()) {
      errors.add(check_direction(placed));
      errors.add(
          check_monitored(placed.where, kMonitor, placed.schedule.reduce_on_plateau().monitor()));
    }
    if (!placed.schedule.has_custom()) continue;
    // validate() reports an unknown name.
    if (!schedule_registry().check(placed.schedule.custom().name()).ok()) continue;
    const auto schedule =
        create_schedule(placed.schedule, placed.learning_rate, training_totals(config.train()));
    errors.add(annotate(schedule.status(), placed.where));
    if (!schedule.ok() || (*schedule)->monitor().empty()) continue;
    errors.add(check_monitored(placed.where, kMonitor, std::string((*schedule)->monitor())));
  }
  return errors.status();
}

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
         all([](const Cadence& when) { return when.every_share > 0; }) ||
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

absl::Status check_keep_best(const JobConfig& config) {
  if (config.run().checkpoint().keep_best().empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MetricNames names, MetricNames::create(config));
  FieldErrors errors;
  std::set<std::string> seen;
  for (const CheckpointConfig::Best& best : config.run().checkpoint().keep_best()) {
    const std::string where = absl::StrCat("run.checkpoint.keep_best \"", best.metric(), "\"");
    if (!seen.insert(best.metric()).second) {
      errors.add(wrong(where, "an entry before it has the metric; give that one a larger count"));
      continue;
    }
    errors.add(names.check_of_checkpoints(where, best.metric()));
    if (!contradicts(best.metric(), best.higher_is_better())) continue;
    errors.add(
        wrong(where, absl::StrCat("higher_is_better is ",
                                  best.higher_is_better() ? "true, but lower" : "false, but higher",
                                  " values of ", best.metric(), " are better")));
  }
  return errors.status();
}

}  // namespace millrace
