#include "hooks/metric_report_hook.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/lines/json_line.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t kVersion = 1;

Json progress_json(const Progress& progress) {
  return Json{{"step", progress.step},
              {"examples", progress.examples},
              {"epoch", progress.epoch},
              {"window", progress.window},
              {"skipped_steps", progress.skipped_steps},
              {"seconds", absl::ToDoubleSeconds(progress.elapsed)}};
}

void add_values(const std::map<std::string, double>& values, Json& json) {
  for (const auto& [name, value] : values) json[name] = value;
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
  Json json = progress_json(report.progress);
  json["examples_per_second"] = report.examples_per_second;
  json["data_wait_share"] = report.data_wait_share;
  add_values(report.metrics, json["metrics"] = Json::object());
  add_values(report.values, json["values"] = Json::object());
  add_values(report.learning_rates, json["learning_rates"] = Json::object());
  Json& tables = json["tables"] = Json::object();
  for (const auto& [name, table] : report.tables) {
    tables[name] = {{"rows", table.rows},
                    {"bytes", table.bytes},
                    {"load", table.load},
                    {"candidates", table.candidates},
                    {"inserted", table.inserted},
                    {"evicted", Json(table.evicted)},
                    {"unadmitted", table.unadmitted},
                    {"unique_share", table.unique_share},
                    {"hottest_share", table.hottest_share}};
  }
  const ProcessReport& process = report.process;
  json["process"] = {{"cores", process.cores},
                     {"resident_bytes", process.resident_bytes},
                     {"major_faults", process.major_faults},
                     {"minor_faults", process.minor_faults},
                     {"bytes_read", process.bytes_read}};
  if (report.ranks.has_value()) {
    const RankReport& ranks = *report.ranks;
    json["ranks"] = {
        {"waiting",
         {{"other_ranks", ranks.other_ranks_share},
          {"owners", ranks.owners_share},
          {"gradients", ranks.gradients_share},
          {"transfer", ranks.transfer_share}}},
        {"bytes_per_step",
         {{"ids", ranks.ids_bytes}, {"rows", ranks.rows_bytes}, {"sums", ranks.sums_bytes}}},
        {"owner_imbalance", ranks.owner_imbalance}};
  }
  return train_.append(json_line(json));
}

absl::Status MetricReportHook::after_evaluate(HookContext& context,
                                              const EvaluationResult& result) {
  if (context.rank() != 0) return absl::OkStatus();
  Json json = progress_json(result.progress);
  json["set"] = result.set;
  json["evaluated_examples"] = result.examples;
  json["evaluation_seconds"] = absl::ToDoubleSeconds(result.elapsed);
  add_values(result.metrics, json["metrics"] = Json::object());
  add_values(result.values, json["values"] = Json::object());
  return eval_.append(json_line(json));
}

// A directory that was removed is there again with the checkpoint.
absl::Status MetricReportHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  train_.check_removed();
  eval_.check_removed();
  return absl::OkStatus();
}

absl::Status MetricReportHook::end(HookContext&, const absl::Status&) {
  absl::Status status = train_.finish();
  status.Update(eval_.finish());
  return status;
}

absl::Status MetricReportHook::save_state(HookState& state) const {
  if (train_.bytes() == LineFile::kUnknown && eval_.bytes() == LineFile::kUnknown)
    return absl::OkStatus();
  state = {kVersion, absl::StrCat(train_.bytes(), " ", eval_.bytes())};
  return absl::OkStatus();
}

absl::Status MetricReportHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t train = LineFile::kUnknown, eval = LineFile::kUnknown;
  if (!per_rank.empty() && !per_rank[0].empty()) {  // rank 0's
    const std::pair<absl::string_view, absl::string_view> bytes =
        absl::StrSplit(per_rank[0].bytes, ' ');
    const bool readable = per_rank[0].version == kVersion &&
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
