#include "hooks/metric_report_hook.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// nlohmann writes infinities and not-a-number as null.
std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

absl::Status MetricReportHook::start(HookContext& context) {
  begins_at_ = context.progress().step;
  for (Lines* lines : {&train_, &eval_}) {
    if (context.rank() != 0) lines->bytes = kUnknown;
    if (context.rank() == 0 && begins_at_ == 0) lines->bytes = 0;
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
  return write(train_, to_line(json));
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
  return write(eval_, to_line(json));
}

// A directory that was removed is there again with the checkpoint.
absl::Status MetricReportHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  for (Lines* lines : {&train_, &eval_}) {
    const std::string path = join_path(directory_, lines->name);
    if (lines->file == nullptr || !absl::IsNotFound(files_.link_info(path).status())) continue;
    lines->file.reset();
    lines->bytes = 0;
  }
  return absl::OkStatus();
}

absl::Status MetricReportHook::end(HookContext&, const absl::Status&) {
  absl::Status status;
  for (Lines* lines : {&train_, &eval_}) {
    if (lines->file == nullptr) continue;
    status.Update(lines->file->sync());
    status.Update(lines->file->close());
    lines->file.reset();
  }
  return status;
}

absl::Status MetricReportHook::save_state(HookState& state) const {
  if (train_.bytes == kUnknown && eval_.bytes == kUnknown) return absl::OkStatus();
  state = {kVersion, absl::StrCat(train_.bytes, " ", eval_.bytes)};
  return absl::OkStatus();
}

absl::Status MetricReportHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t train = kUnknown, eval = kUnknown;
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
  train_.bytes = train;
  eval_.bytes = eval;
  return absl::OkStatus();
}

// Drops what a run wrote after the checkpoint from which this one goes on, and a line that it did
// not finish.
absl::Status MetricReportHook::drop_later_lines(const std::string& path, Lines& lines) const {
  const absl::StatusOr<std::string> text = read_file(files_, path);
  const int64_t before = std::exchange(lines.bytes, 0);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  absl::string_view old = *text;
  if (before >= 0) old = old.substr(0, static_cast<size_t>(before));
  std::string kept;
  for (const absl::string_view line : absl::StrSplit(old, '\n', absl::SkipEmpty())) {
    if (!is_beyond(line, begins_at_)) absl::StrAppend(&kept, line, "\n");
  }
  lines.bytes = static_cast<int64_t>(kept.size());
  return kept == *text ? absl::OkStatus() : write_file_atomically(files_, path, kept);
}

absl::Status MetricReportHook::write(Lines& lines, const std::string& line) {
  if (lines.file == nullptr) {
    RETURN_IF_ERROR(files_.create_directories(directory_));
    const std::string path = join_path(directory_, lines.name);
    lines.bytes = begins_at_ == 0 ? 0 : lines.bytes;
    if (begins_at_ > 0) RETURN_IF_ERROR(drop_later_lines(path, lines));
    ASSIGN_OR_RETURN(lines.file,
                     begins_at_ == 0 ? files_.create(path) : files_.open_for_append(path));
  }
  RETURN_IF_ERROR(lines.file->append(line));
  lines.bytes += static_cast<int64_t>(line.size());
  return absl::OkStatus();
}

}  // namespace millrace
