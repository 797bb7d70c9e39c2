#include "tools/output/run_summary.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "job/output_place.h"
#include "tools/exit_code.h"
#include "tools/output/output_kinds.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int64_t kNamedBadFiles = 100;
constexpr double kLeastShare = 0.005;

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

// Ways to write to a path.
enum class Way { kReplace, kThroughLink, kAppend };

Way way_to(const std::string& path) {
  struct stat info;
  for (const std::string& place : link_chain(path)) {
    const std::string name = std::filesystem::path(place).lexically_normal().string();
    // An open file of a process, which may hold earlier output, or a device.
    const bool device = absl::StartsWith(name, "/dev/") && !absl::StartsWith(name, "/dev/shm/");
    if (device || absl::StartsWith(name, "/proc/")) return Way::kAppend;
  }
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return Way::kAppend;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) ? Way::kThroughLink
                                                                    : Way::kReplace;
}

absl::Status write_open(absl::StatusOr<std::unique_ptr<WritableFile>> file,
                        const std::string& text) {
  RETURN_IF_ERROR(file.status());
  RETURN_IF_ERROR((*file)->append(text));
  return (*file)->close();
}

absl::Status check_place(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(check_shell_path(path));
  const std::string directory = directory_of(path);
  const absl::StatusOr<FileInfo> above = files.info(directory);
  if (!above.ok() || !above->is_directory) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": there is no directory ", directory));
  }
  const absl::StatusOr<FileInfo> there = files.info(path);
  if (there.ok() && there->is_directory) {
    return absl::PermissionDeniedError(absl::StrCat("cannot write ", path, ": it is a directory"));
  }
  const bool local = !absl::StrContains(path, "://");
  if (local && way_to(path) == Way::kReplace && !writable(directory, /*is_directory=*/true)) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": ", directory, " is not writable"));
  }
  return check_outside_checkpoints(files, path);
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
  // Texts, such as the message of an exception, may be invalid UTF-8.
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

absl::Status SummaryFile::check() const {
  if (path_.empty()) return absl::OkStatus();
  return annotate(check_place(files_, path_), "--summary");
}

absl::Status SummaryFile::check_inputs(absl::FunctionRef<std::vector<RunInput>()> inputs) {
  if (path_.empty()) return absl::OkStatus();
  const absl::Status status = check_not_input(files_, path_, inputs());
  knows_inputs_ = status.ok();
  if (!status.ok()) path_.clear();
  RETURN_IF_ERROR(status, "--summary");
  if (way_to(path_) == Way::kAppend) return absl::OkStatus();
  return annotate(check_replaceable(files_, path_, summary_kind(), overwrite_), "--summary");
}

absl::Status SummaryFile::write(const std::string& json) const {
  if (path_.empty()) return absl::OkStatus();
  const Way way = way_to(path_);
  const auto write = [&]() -> absl::Status {
    RETURN_IF_ERROR(check_place(files_, path_));
    if (way == Way::kAppend) return write_open(files_.open_for_append(path_), json);
    RETURN_IF_ERROR(check_replaceable(files_, path_, summary_kind(), overwrite_ && knows_inputs_));
    if (way == Way::kThroughLink) return write_open(files_.create(path_), json);
    return write_file_atomically(files_, path_, json);
  };
  return annotate(write(), "--summary");
}

absl::StatusOr<int> SummaryFile::end_command(Summary summary, absl::Status status) const {
  summary.outcome = status.ok() ? Outcome::kCompleted : Outcome::kFailed;
  summary.error = std::string(status.message());
  status.Update(write(summary_json(summary)));
  RETURN_IF_ERROR(status);
  return kExitFinished;
}

std::string times_text(const RunTimes& times) {
  const double total = absl::ToDoubleSeconds(times.total());
  if (total < 0.001) return "";
  const std::pair<const char*, absl::Duration> parts[] = {
      {"data wait", times.data_wait},   {"forward", times.forward},
      {"backward", times.backward},     {"exchange", times.exchange},
      {"update", times.update},         {"hooks", times.hooks},
      {"evaluation", times.evaluation}, {"checkpoints", times.checkpoint}};
  TextTable table({{"time"}, {"seconds", TextTable::kRight}, {"share", TextTable::kRight}});
  const auto add = [&](const char* name, double seconds) {
    table.add({name, absl::StrFormat("%.2f", seconds),
               absl::StrFormat("%.1f %%", 100 * seconds / total)});
  };
  // Small parts are added to "other", so that the table stays short.
  double other = absl::ToDoubleSeconds(times.other);
  for (const auto& [name, time] : parts) {
    const double seconds = absl::ToDoubleSeconds(time);
    if (seconds < kLeastShare * total) {
      other += seconds;
    } else {
      add(name, seconds);
    }
  }
  if (other >= kLeastShare * total) add("other", other);
  add("total", total);
  return table.text();
}

}  // namespace millrace
