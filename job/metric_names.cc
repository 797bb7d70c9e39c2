#include "job/metric_names.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "framework/model/model_registry.h"
#include "framework/report/span_metrics.h"
#include "framework/trainer_parts.h"
#include "hook/cadence.h"
#include "hooks/early_stopping_hook.h"
#include "hooks/embedding_projector_hook.h"
#include "hooks/evict_rows_hook.h"
#include "hooks/example_trace_hook.h"
#include "hooks/mllog_hook.h"
#include "hooks/profiler_hook.h"
#include "hooks/publish_hook.h"
#include "hooks/watch_tensors_hook.h"
#include "io/feature_schema.h"
#include "job/report/report_options.h"
#include "metrics/metric_registry.h"
#include "proto/field_check.h"
#include "proto/monitor_name.h"

namespace millrace {
namespace {

constexpr char kTrain[] = "train";  // the source of metrics of training
constexpr size_t kMostSuggestions = 3;

const EvaluationSetConfig* find_set(const TrainConfig& train, absl::string_view name) {
  for (const EvaluationSetConfig& set : train.eval_data()) {
    if (set.name() == name) return &set;
  }
  return nullptr;
}

bool recurs(Cadence cadence) {
  cadence.at_start = cadence.at_end = false;
  return cadence.enabled();
}

// Returns the place of the entry of run.evaluation.set that prevents the evaluation of `set`, or
// "".
std::string entry_without_trigger(const EvaluationConfig& evaluation, absl::string_view set) {
  for (int i = 0; i < evaluation.set_size(); ++i) {
    const EvaluationConfig::Set& own = evaluation.set(i);
    if (own.name() != set || Cadence::from_config(own.when()).enabled()) continue;
    return entry("run.evaluation.set", i, own.name());
  }
  return "";
}

std::string what_to_do(const JobConfig& config) {
  if (config.train().eval_data().empty()) return "give --eval_data or train.eval_data";
  if (!config.run().evaluation().enabled()) return "run.evaluation.enabled is false";
  for (const EvaluationSetConfig& set : config.train().eval_data()) {
    const std::string place = entry_without_trigger(config.run().evaluation(), set.name());
    if (!place.empty()) return absl::StrCat(place, ": when has no trigger");
  }
  return "run.evaluation.when has no trigger";
}

bool contains(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns `"a"`, `"a" or "b"`, `"a", "b" or "c"`.
std::string join_or(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::string_view before = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    absl::StrAppend(&text, before, "\"", names[i], "\"");
  }
  return text;
}

}  // namespace

absl::StatusOr<MetricNames> MetricNames::create(const JobConfig& config) {
  MetricNames names(config);
  ASSIGN_OR_RETURN(const FeatureSchema schema, FeatureSchema::create(config.train()));
  names.labels_ = schema.labels();
  return names;
}

// Returns the names of the metrics of a set, or of training reports, as MetricSet forms them.
std::vector<std::string> MetricNames::metrics_of(absl::string_view source) const {
  const EvaluationSetConfig* set = find_set(config_.train(), source);
  const bool own = set != nullptr && set->metric_size() > 0;
  const auto& given = own ? set->metric() : config_.train().metric();
  std::vector<std::string> metrics(given.begin(), given.end());
  if (metrics.empty()) metrics = TrainerOptions().metrics;
  std::vector<std::string> names = {"loss"};
  // An unlinked model may read tasks.
  const std::string& model = config_.train().model().name();
  const bool of_tasks =
      labels_of_model(model) == ModelLabels::kOfTasks || !contains(registered_models(), model);
  for (const std::string& label : labels_) {
    if (of_tasks && labels_.size() > 1) names.push_back(absl::StrCat(label, "/loss"));
    for (const std::string& metric : metrics) {
      names.push_back(labels_.size() > 1 ? absl::StrCat(label, "/", metric) : metric);
    }
  }
  const std::vector<std::string> of_all = names;
  if (source == kTrain && set == nullptr) add_spans(of_all, names);
  add_slices(metrics, names);
  return names;
}

void MetricNames::add_spans(const std::vector<std::string>& metrics,
                            std::vector<std::string>& names) const {
  for (const int value : config_.run().report().span()) {
    const auto span = static_cast<ReportConfig::Span>(value);
    for (const std::string& name : metrics) {
      const bool unbounded = traits_of_metric(name.substr(name.rfind('/') + 1)).keeps_examples;
      if (unbounded && span != ReportConfig::MOVING) continue;
      names.push_back(absl::StrCat(span_name(span), "/", name));
    }
  }
}

// Adds the slices of configured ids. If neither SliceConfig.id nor text is set, the data decides
// the ids, so that a monitor cannot name a slice.
void MetricNames::add_slices(const std::vector<std::string>& metrics,
                             std::vector<std::string>& names) const {
  for (const SliceConfig& slice : config_.train().slice()) {
    std::vector<std::string> values;
    for (const int64_t id : slice.id()) values.push_back(absl::StrCat(id));
    values.insert(values.end(), slice.text().begin(), slice.text().end());
    values.insert(values.end(), {"other", "none"});
    std::vector<std::string> own(slice.metric().begin(), slice.metric().end());
    if (own.empty()) own = metrics;
    for (const std::string& value : values) {
      const std::string prefix = absl::StrCat(slice.feature(), "=", value, "/");
      names.push_back(prefix + "examples");
      for (const std::string& label : labels_) {
        for (const std::string& metric : own) {
          names.push_back(absl::StrCat(prefix, labels_.size() > 1 ? label + "/" : "", metric));
        }
      }
    }
  }
}

// Returns "Sets: a, b; metrics: loss, auc", or if metrics differ "Metrics of a: loss; of b: ...".
std::string MetricNames::describe(const std::vector<std::string>& sources) const {
  std::vector<std::string> each;
  bool alike = true;
  for (const std::string& source : sources) {
    each.push_back(absl::StrCat(source, ": ", absl::StrJoin(metrics_of(source), ", ")));
    alike &= metrics_of(source) == metrics_of(sources[0]);
  }
  if (!alike) return absl::StrCat("metrics of ", absl::StrJoin(each, "; of "));
  return absl::StrCat("sets: ", absl::StrJoin(sources, ", "),
                      "; metrics: ", absl::StrJoin(metrics_of(sources[0]), ", "));
}

// A hook of the job may request evaluations at any time. The configurable hooks of Millrace request
// none.
bool MetricNames::hooks_may_evaluate() const {
  constexpr absl::string_view kOfMillrace[] = {
      EarlyStoppingHook::kName, EvictRowsHook::kName,
      ExampleTraceHook::kName,  EmbeddingProjectorHook::kName,
      MllogHook::kName,         ProfilerHook::kName,
      PublishHook::kName,       WatchTensorsHook::kName};
  const auto is_own = [&](const HookConfig& hook) {
    return !absl::c_linear_search(kOfMillrace, hook.name());
  };
  const auto& hooks = config_.train().hooks();
  const auto& others = config_.run().hooks();
  return std::any_of(hooks.begin(), hooks.end(), is_own) ||
         std::any_of(others.begin(), others.end(), is_own);
}

// Returns the sets that are evaluated at some time. Only the trainer evaluates sets in windows and
// next_window.
std::vector<std::string> MetricNames::evaluated_sets() const {
  const EvaluationConfig& evaluation = config_.run().evaluation();
  std::vector<std::string> sets;
  for (const EvaluationSetConfig& set : config_.train().eval_data()) {
    const bool is_due =
        evaluation.enabled() && evaluation_cadence(evaluation, set.name()).enabled();
    const bool evaluated =
        set.data().has_windows() ? evaluation.enabled() : is_due || hooks_may_evaluate();
    if (evaluated) sets.push_back(set.name());
  }
  if (evaluation.enabled() && evaluation.progressive()) sets.push_back(kNextWindow);
  return sets;
}

bool MetricNames::is_recurring(absl::string_view source) const {
  const RunConfig& run = config_.run();
  if (source == kTrain) {
    return recurs(report_cadence(run.report(), TrainerOptions().report));
  }
  const EvaluationSetConfig* set = find_set(config_.train(), source);
  if (set == nullptr || set->data().has_windows() || hooks_may_evaluate()) return true;
  return recurs(evaluation_cadence(run.evaluation(), source));
}

// Returns names similar to `metric`: the nearest, or for a name without a label the names of all
// labels.
std::vector<std::string> MetricNames::find_near(absl::string_view metric,
                                                const std::vector<std::string>& sources) const {
  std::vector<std::string> known, unlabelled;
  std::multimap<std::string, std::string> full;  // by the name without its label
  for (const std::string& source : sources) {
    for (const std::string& name : metrics_of(source)) {
      known.push_back(absl::StrCat(source, "/", name));
      const size_t slash = name.find('/');
      if (slash == std::string::npos) continue;
      unlabelled.push_back(absl::StrCat(source, name.substr(slash)));
      full.emplace(unlabelled.back(), known.back());
    }
  }
  const std::string near = nearest(metric, known), near_unlabelled = nearest(metric, unlabelled);
  const bool lacks_label =
      !near_unlabelled.empty() &&
      (near.empty() || edit_distance(metric, near_unlabelled) < edit_distance(metric, near));
  std::vector<std::string> names;
  if (!lacks_label) {
    if (!near.empty()) names.push_back(near);
    return names;
  }
  const auto [begin, end] = full.equal_range(near_unlabelled);
  for (auto it = begin; it != end && names.size() < kMostSuggestions; ++it) {
    names.push_back(it->second);
  }
  return names;
}

absl::Status MetricNames::check(absl::string_view where, absl::string_view metric,
                                absl::string_view givers,
                                const std::vector<std::string>& sources) const {
  const std::string source(set_of_monitor(metric));
  if (contains(sources, source)) {
    for (const std::string& name : metrics_of(source)) {
      if (metric == absl::StrCat(source, "/", name)) return absl::OkStatus();
    }
  }
  const std::string near = join_or(find_near(metric, sources));
  std::string known_ones = describe(sources);
  if (!near.empty()) known_ones[0] = absl::ascii_toupper(known_ones[0]);
  return wrong(
      where,
      absl::StrCat(givers, " gives this metric",
                   near.empty() ? "; " : absl::StrCat("; did you mean ", near, "? "), known_ones));
}

// Checks that `metric` is not of a configured set that is never evaluated. `sets`: the evaluated
// sets.
absl::Status MetricNames::check_set(absl::string_view where, absl::string_view metric,
                                    const std::vector<std::string>& sets) const {
  const std::string set(set_of_monitor(metric));
  if (find_set(config_.train(), set) == nullptr || contains(sets, set)) return absl::OkStatus();
  const EvaluationConfig& evaluation = config_.run().evaluation();
  const std::string place = entry_without_trigger(evaluation, set);
  if (evaluation.enabled() && !place.empty()) {
    return wrong(where, absl::StrCat("set \"", set, "\" is never evaluated; give ", place,
                                     " a trigger in when, such as every_steps, or remove it"));
  }
  if (sets.empty()) return absl::OkStatus();  // the job evaluates nothing
  return wrong(where, absl::StrCat("set \"", set, "\" is never evaluated; ", what_to_do(config_)));
}

absl::Status MetricNames::check_evaluated(absl::string_view where, absl::string_view metric) const {
  const std::vector<std::string> sets = evaluated_sets();
  RETURN_IF_ERROR(check_set(where, metric, sets));
  if (sets.empty()) {
    return wrong(where, absl::StrCat("the job evaluates nothing; ", what_to_do(config_)));
  }
  return check(where, metric, "no evaluation", sets);
}

absl::Status MetricNames::check_of_checkpoints(absl::string_view where,
                                               absl::string_view metric) const {
  if (set_of_monitor(metric) != kNextWindow) return check_evaluated(where, metric);
  return wrong(where,
               "next_window is evaluated after the checkpoint of its step was made; name a set of "
               "train.eval_data");
}

absl::Status MetricNames::check_shown(absl::string_view where, absl::string_view metric) const {
  std::vector<std::string> known = metrics_of(kTrain);
  for (const std::string& set : evaluated_sets()) {
    for (const std::string& name : metrics_of(set)) {
      if (!contains(known, name)) known.push_back(name);
    }
  }
  // The data decides the ids with a slice.
  for (const SliceConfig& slice : config_.train().slice()) {
    const bool is_open = slice.id().empty() && slice.text().empty();
    if (is_open && absl::StartsWith(metric, absl::StrCat(slice.feature(), "="))) {
      return absl::OkStatus();
    }
  }
  if (contains(known, metric)) return absl::OkStatus();
  const absl::string_view set = set_of_monitor(metric);
  if (!set.empty() && metric.size() > set.size() &&
      contains(known, metric.substr(set.size() + 1))) {
    return wrong(where, absl::StrCat("names on the line are without the set; write \"",
                                     metric.substr(set.size() + 1), "\""));
  }
  const std::string near = nearest(metric, known);
  return wrong(
      where, near.empty()
                 ? absl::StrCat("no report or evaluation gives this metric; they give: ",
                                absl::StrJoin(known, ", "))
                 : absl::StrCat("no report or evaluation gives this metric; did you mean \"", near,
                                "\"?"));
}

absl::Status MetricNames::check_monitored(absl::string_view where, absl::string_view metric) const {
  const absl::string_view source = set_of_monitor(metric);
  if (source == kTrain && find_set(config_.train(), kTrain) != nullptr) {
    return wrong(where,
                 "train/ names reports of training, but there is an evaluation set "
                 "\"train\"; give the set another name");
  }
  const std::vector<std::string> sets = evaluated_sets();
  RETURN_IF_ERROR(check_set(where, metric, sets));
  if (sets.empty() && nearest(source, {kTrain}).empty()) {
    return wrong(where, absl::StrCat("the job evaluates nothing; ", what_to_do(config_)));
  }
  std::vector<std::string> sources = sets;
  sources.push_back(kTrain);
  RETURN_IF_ERROR(check(where, metric, "no evaluation or report", sources));
  // A monitor compares values over time, so a metric with a single value is useless.
  if (is_recurring(source)) return absl::OkStatus();
  if (source == kTrain) {
    return wrong(where,
                 "training reports at most once at the end; give run.report.when a trigger "
                 "such as every_steps");
  }
  return wrong(where, absl::StrCat("set \"", source,
                                   "\" is evaluated only at the start or the end; "
                                   "give run.evaluation.when, or its entry in "
                                   "run.evaluation.set, a trigger such as every_steps"));
}

}  // namespace millrace
