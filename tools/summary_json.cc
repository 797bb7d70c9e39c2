#include "tools/summary_json.h"

#include <sys/stat.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

const char* word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted: return "completed";
    case Outcome::kStopped: return "stopped";
    default: return "failed";
  }
}

// Whether the path is a device, a pipe or a link, such as /dev/stdout: renaming a file to it would
// take its place instead of writing to it.
bool is_special(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

absl::Status write_through(FileSystem& files, const std::string& path, const std::string& text) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.create(path));
  RETURN_IF_ERROR(file->append(text));
  return file->close();
}

Json hooks_json(const std::map<std::string, HookStatistics>& hooks) {
  Json json = Json::object();
  for (const auto& [name, hook] : hooks) {
    absl::Duration total = absl::ZeroDuration();
    Json events = Json::object();
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

}  // namespace

std::string summary_json(const Summary& summary) {
  Json json;
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
  json["train"] = Json(summary.train);
  Json& eval = json["eval"] = Json::object();
  for (const auto& [set, metrics] : summary.eval) {
    for (const auto& [name, value] : metrics) eval[set == "eval" ? name : set + "/" + name] = value;
  }
  json["eval_step"] = Json(summary.eval_step);
  json["rows"] = Json(summary.rows);
  json["checkpoint"] = summary.checkpoint;
  json["hooks"] = hooks_json(summary.hooks);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::Status check_summary_file(FileSystem& files, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const size_t slash = path.find_last_of('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const absl::StatusOr<FileInfo> above = files.info(directory);
  if (!above.ok() || !above->is_directory) {
    return absl::PermissionDeniedError(
        absl::StrCat("--summary: cannot write ", path, ": there is no directory ", directory));
  }
  const absl::StatusOr<FileInfo> there = files.info(path);
  if (there.ok() && there->is_directory) {
    return absl::PermissionDeniedError(
        absl::StrCat("--summary: cannot write ", path, ": it is a directory"));
  }
  return absl::OkStatus();
}

absl::Status write_summary_file(FileSystem& files, const std::string& path,
                                const std::string& json) {
  if (path.empty()) return absl::OkStatus();
  const absl::Status status = is_special(path) ? write_through(files, path, json)
                                               : write_file_atomically(files, path, json);
  return annotate(status, "--summary");
}

absl::StatusOr<int> end_with_summary(FileSystem& files, const std::string& path, Summary summary,
                                     absl::Status status) {
  summary.outcome = status.ok() ? Outcome::kCompleted : Outcome::kFailed;
  summary.error = std::string(status.message());
  status.Update(write_summary_file(files, path, summary_json(summary)));
  RETURN_IF_ERROR(status);
  return kExitFinished;
}

}  // namespace millrace
