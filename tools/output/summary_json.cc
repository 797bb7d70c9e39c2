#include "tools/output/summary_json.h"

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int64_t kNamedBadFiles = 100;

const char* word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted: return "completed";
    case Outcome::kStopped: return "stopped";
    default: return "failed";
  }
}

OrderedJson hooks_json(const std::map<std::string, HookStatistics>& hooks) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, hook] : hooks) {
    absl::Duration total = absl::ZeroDuration();
    OrderedJson events = OrderedJson::object();
    for (const auto& [event, figures] : hook.events) {
      total += figures.time;
      events[event] = {{"calls", figures.calls}, {"seconds", absl::ToDoubleSeconds(figures.time)}};
    }
    json[name] = {{"seconds", absl::ToDoubleSeconds(total)},
                  {"errors", hook.errors},
                  {"first_error", hook.first_error},
                  {"disabled", hook.disabled},
                  {"events", std::move(events)}};
  }
  return json;
}

// Returns the seconds of each part of the run.
OrderedJson times_json(const RunTimes& times) {
  return {{"data_wait", absl::ToDoubleSeconds(times.data_wait)},
          {"forward", absl::ToDoubleSeconds(times.forward)},
          {"backward", absl::ToDoubleSeconds(times.backward)},
          {"exchange", absl::ToDoubleSeconds(times.exchange)},
          {"update", absl::ToDoubleSeconds(times.update)},
          {"hooks", absl::ToDoubleSeconds(times.hooks)},
          {"evaluation", absl::ToDoubleSeconds(times.evaluation)},
          {"checkpoint", absl::ToDoubleSeconds(times.checkpoint)},
          {"other", absl::ToDoubleSeconds(times.other)},
          {"total", absl::ToDoubleSeconds(times.total())}};
}

// Returns per set the files and rows, if known, and the omitted files.
OrderedJson data_json(const DataReport& report) {
  OrderedJson json = OrderedJson::object();
  for (const DataSetReport& set : report.sets()) {
    OrderedJson& own = json[set.name];
    const bool is_counted = !set.in_windows && !set.is_registered;
    if (is_counted) own = {{"files", set.files}, {"rows", set.rows}};
    own["bad_files"] = set.bad_files.count();
    own["bad_file_names"] = set.bad_files.paths(kNamedBadFiles);
  }
  return json;
}

}  // namespace

std::string summary_json(const Summary& summary, const DataReport* data) {
  OrderedJson json;
  json["outcome"] = word(summary.outcome);
  json["stop_reason"] = summary.stop_reason;
  json["error"] = summary.error;
  json["steps"] = summary.progress.step;
  json["epochs"] = summary.progress.epoch;
  json["windows"] = summary.progress.window;
  json["examples"] = summary.progress.examples;
  json["skipped_steps"] = summary.progress.skipped_steps;
  json["skipped_examples"] = summary.progress.skipped_examples;
  json["seconds"] = absl::ToDoubleSeconds(summary.progress.elapsed);
  const double seconds = absl::ToDoubleSeconds(summary.elapsed_this_run);
  json["examples_per_second"] =
      seconds > 0 ? static_cast<double>(summary.examples_this_run) / seconds : 0.0;
  json["dropped_examples"] = summary.dropped_examples;
  json["bad_examples"] = summary.bad_examples;
  json["damaged_windows"] = summary.damaged_windows;
  json["world_size"] = summary.world_size;
  json["train"] = OrderedJson(summary.train);
  json["train_report"] = {{"step", summary.train_report.step},
                          {"steps", summary.train_report.steps},
                          {"examples", summary.train_report.examples}};
  OrderedJson& eval = json["eval"] = OrderedJson::object();
  for (const auto& [set, metrics] : summary.eval) {
    for (const auto& [name, value] : metrics) eval[set == "eval" ? name : set + "/" + name] = value;
  }
  json["eval_step"] = OrderedJson(summary.eval_step);
  json["unknown_shares"] = OrderedJson(summary.unknown_shares);
  OrderedJson& best = json["best"] = nullptr;
  if (summary.best.has_value()) {
    best = {{"score", summary.best->value},
            {"step", summary.best->step},
            {"checkpoint", summary.best->checkpoint}};
  }
  json["rows"] = OrderedJson(summary.rows);
  if (data != nullptr) json["data"] = data_json(*data);
  json["checkpoint"] = summary.checkpoint;
  json["hooks"] = hooks_json(summary.hooks);
  json["time"] = times_json(summary.times);
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace millrace
