#include "hooks/metric_report_hook.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

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

// Drops what a run wrote beyond the step from which this one goes on, and a line that it did not
// finish.
absl::Status drop_later_lines(FileSystem& files, const std::string& path, int64_t step) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (json["step"].get<int64_t>() <= step) absl::StrAppend(&kept, line, "\n");
  }
  return kept == *text ? absl::OkStatus() : write_file_atomically(files, path, kept);
}

// nlohmann writes infinities and not-a-number as null.
std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::Status MetricReportHook::start(HookContext& context) {
  begins_at_ = context.progress().step;
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
  return write(train_, "train.jsonl", to_line(json));
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
  return write(eval_, "eval.jsonl", to_line(json));
}

absl::Status MetricReportHook::end(HookContext&, const absl::Status&) {
  absl::Status status;
  for (std::unique_ptr<WritableFile>* file : {&train_, &eval_}) {
    if (*file == nullptr) continue;
    status.Update((*file)->sync());
    status.Update((*file)->close());
    file->reset();
  }
  return status;
}

absl::Status MetricReportHook::write(std::unique_ptr<WritableFile>& file, absl::string_view name,
                                     const std::string& line) {
  if (file == nullptr) {
    RETURN_IF_ERROR(files_.create_directories(directory_));
    const std::string path = join_path(directory_, name);
    if (begins_at_ > 0) RETURN_IF_ERROR(drop_later_lines(files_, path, begins_at_));
    ASSIGN_OR_RETURN(file, begins_at_ == 0 ? files_.create(path) : files_.open_for_append(path));
  }
  return file->append(line);
}

}  // namespace millrace
