#include "hooks/metric_report_hook.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "base/lines/line_text.h"
#include "base/status_macros.h"
#include "framework/report/report_figures.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t kMetricReportVersion = 1;

template <typename Part>
void add_figures(absl::Span<const Figure<Part>> figures, const Part& part, Json& json) {
  for (const Figure<Part>& figure : figures) {
    Json& number = json[Json::json_pointer(absl::StrCat("/", figure.json))];
    std::visit([&](auto value) { number = value; }, value_of(figure, part));
  }
}

void add_values(const char* name, const std::map<std::string, double>& values, Json& json) {
  Json& numbers = json[name] = Json::object();
  for (const auto& [key, value] : values) numbers[key] = value;
}

void add_tables(const std::map<std::string, TableReport>& tables, Json& json) {
  Json& objects = json["tables"] = Json::object();
  for (const auto& [name, table] : tables) {
    Json& object = objects[name];
    add_figures(kTableFigures, table, object);
    object["evicted"] = table.evicted;
  }
}

bool is_beyond(absl::string_view line, int64_t step) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  const bool whole = json.is_object() && json.contains("step") && json["step"].is_number_integer();
  return !whole || json["step"].get<int64_t>() > step;
}

}  // namespace

absl::Status MetricReportHook::start(HookContext& context) {
  const int64_t first_step = context.progress().step;
  for (LineFile* lines : {&train_, &eval_}) {
    lines->begin(first_step > 0,
                 [first_step](absl::string_view line) { return is_beyond(line, first_step); });
    if (context.rank() != 0) lines->set_bytes(LineFile::kUnknown);
  }
  return absl::OkStatus();
}

absl::Status MetricReportHook::after_report(HookContext& context, const Report& report) {
  if (context.rank() != 0) return absl::OkStatus();
  Json json;
  add_figures(kProgressFigures, report.progress, json);
  add_figures(kRateFigures, report, json);
  add_values("metrics", report.metrics, json);
  add_values("values", report.values, json);
  add_values("learning_rates", report.learning_rates, json);
  add_tables(report.tables, json);
  add_figures(kProcessFigures, report.process, json["process"]);
  if (report.ranks.has_value()) add_figures(kRankFigures, *report.ranks, json["ranks"]);
  return train_.append(json_line(json));
}

absl::Status MetricReportHook::after_evaluate(HookContext& context,
                                              const EvaluationResult& result) {
  if (context.rank() != 0) return absl::OkStatus();
  Json json;
  add_figures(kProgressFigures, result.progress, json);
  json["set"] = result.set;
  add_figures(kEvaluationFigures, result, json);
  add_values("metrics", result.metrics, json);
  add_values("values", result.values, json);
  add_values("unknown_shares", result.unknown_shares, json);
  return eval_.append(json_line(json));
}

// The checkpoint recreates a removed directory.
absl::Status MetricReportHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  train_.check_removed();
  eval_.check_removed();
  return std::exchange(sync_, absl::OkStatus());
}

absl::Status MetricReportHook::end(HookContext&, const absl::Status&) {
  absl::Status status = train_.finish();
  status.Update(eval_.finish());
  return status;
}

// An error of the files must not fail the checkpoint: after_checkpoint() returns the error.
absl::Status MetricReportHook::save_state(HookState& state) const {
  sync_.Update(train_.sync());
  sync_.Update(eval_.sync());
  if (train_.bytes() == LineFile::kUnknown && eval_.bytes() == LineFile::kUnknown)
    return absl::OkStatus();
  state = {kMetricReportVersion, absl::StrCat(train_.bytes(), " ", eval_.bytes())};
  return absl::OkStatus();
}

absl::Status MetricReportHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t train = LineFile::kUnknown, eval = LineFile::kUnknown;
  if (!per_rank.empty() && !per_rank[0].empty()) {  // rank 0's
    const std::pair<absl::string_view, absl::string_view> bytes =
        absl::StrSplit(per_rank[0].bytes, ' ');
    const bool readable = per_rank[0].version == kMetricReportVersion &&
                          absl::SimpleAtoi(bytes.first, &train) &&
                          absl::SimpleAtoi(bytes.second, &eval);
    if (!readable) {
      return absl::InvalidArgumentError(
          "the state of hook metric_report is damaged or of another version");
    }
  }
  train_.set_bytes(train);
  eval_.set_bytes(eval);
  return absl::OkStatus();
}

}  // namespace millrace
