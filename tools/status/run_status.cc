#include "tools/status/run_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/net/socket.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/directory_lock.h"
#include "tools/event_report.h"
#include "tools/output/run_outputs.h"

namespace millrace {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr double kIntervals = 5;  // after which a running process has written the file again
// A phase or exchange that had lasted this long when the file was written lasts until now, as far
// as the file says; a shorter one has probably ended since.
constexpr double kLastingSeconds = 1;

// Returns the object in a file; null if there is no file.
absl::StatusOr<Json> read_object(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (absl::IsNotFound(text.status())) return Json();
  RETURN_IF_ERROR(text.status());
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return absl::DataLossError(
      absl::StrCat(path, " is no JSON object; it was not written by a run, or was damaged since"));
}

// Returns a field of an object of another version or hand; `otherwise` if it is missing or of
// another type.
template <typename T>
T field(const Json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->get<std::string>() : otherwise;
  } else if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() ? found->get<bool>() : otherwise;
  } else {
    return found->is_number() ? found->get<T>() : otherwise;
  }
}

absl::Time time_of(const Json& json, const char* name) {
  absl::Time time = absl::InfinitePast();
  absl::ParseTime(absl::RFC3339_full, field<std::string>(json, name, ""), &time, nullptr);
  return time;
}

// Returns the error of the last run in the events; "" if it has none or the events are unreadable.
std::string last_failure(FileSystem& files, const std::string& directory) {
  const auto history = read_event_history(files, join_path(directory, "events.jsonl"));
  if (!history.ok()) return "";
  std::string error;
  for (const EventLine& event : history->events) {
    if (event.kind == "started") error.clear();
    if (event.kind == "failed" || (event.kind == "ended" && event.what == "failed")) {
      error = event.detail;
    }
  }
  return error;
}

// Returns "1 epoch", "2 epochs".
std::string counted(int64_t number, absl::string_view what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

void take_activity(const Json& json, RunStatus& status) {
  status.phase = field<std::string>(json, "phase", "");
  status.loading = field(json, "loading", false);
  status.seconds = field(json, "seconds", 0.0);
  const bool lasts = status.seconds >= kLastingSeconds;
  if (lasts) status.seconds += absl::ToDoubleSeconds(*status.age);
  status.exchanges = lasts && field(json, "exchanges", false);
  status.healthy = field(json, "healthy", true);
  status.health = field<std::string>(json, "health", "");
  const auto peers = json.find("waits_for");
  if (!status.exchanges) return;
  if (peers == json.end() || !peers->is_array()) return;
  for (const Json& peer : *peers) {
    if (!peer.is_object()) continue;
    status.waits_for.push_back({field<int64_t>(peer, "rank", 0),
                                field<std::string>(peer, "phase", ""),
                                field<int64_t>(peer, "step", 0)});
  }
}

void take_end(const Json& summary, RunStatus& status) {
  status.state = field<std::string>(summary, "outcome", "failed");
  status.stop_reason = field<std::string>(summary, "stop_reason", "");
  status.error = field<std::string>(summary, "error", "");
  status.step = field(summary, "steps", status.step);
  status.epoch = field(summary, "epochs", status.epoch);
  status.window = field(summary, "windows", status.window);
  status.world_size = field(summary, "world_size", status.world_size);
}

// Decides the state of the run, and takes its end from the summary.
absl::Status decide_state(FileSystem& files, const std::string& directory, const Json& written,
                          RunStatus& status) {
  const std::string lock = join_path(directory, "lock");
  const std::string path = join_path(directory, "summary.json");
  ASSIGN_OR_RETURN(const bool held, is_lock_held(lock));
  ASSIGN_OR_RETURN(const Json summary, read_object(files, path));
  const absl::StatusOr<FileInfo> info = files.info(path);
  // The summary of an earlier process stays until the first step.
  const bool has_ended =
      !summary.is_null() && info.ok() && info->modified >= time_of(written, "started");
  const bool has_file = status.age.has_value();
  const bool is_young =
      has_file &&
      *status.age <
          absl::Seconds(kIntervals * std::max(1.0, field(written, "interval_seconds", 1.0)));
  // The lock of a process on another host may be invisible here.
  if (held || (status.host != host_name() && is_young && !has_ended)) {
    status.state = "running";
    // The process with the lock may not have written yet.
    const auto holder = read_file(files, lock);
    const bool is_of_holder =
        has_file &&
        (!held ||
         (holder.ok() && absl::StrContains(*holder, absl::StrCat("host ", status.host, " pid ",
                                                                 status.process, " "))));
    if (!is_of_holder) {
      status.loading = true;
      return absl::OkStatus();
    }
    take_activity(written, status);
    if (!is_young) {
      status.healthy = false;
      status.health = absl::StrFormat("status.json is %.0f s old; the process or its disk hangs",
                                      absl::ToDoubleSeconds(*status.age));
    }
    return absl::OkStatus();
  }
  if (!has_ended) {
    status.state = "killed";
    status.error = last_failure(files, directory);
    return absl::OkStatus();
  }
  take_end(summary, status);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunStatus> read_run_status(FileSystem& files, const std::string& directory,
                                          absl::Time now) {
  ASSIGN_OR_RETURN(const Json written, read_object(files, join_path(directory, "status.json")));
  if (written.is_null() && !is_run_directory(files, directory)) {
    return absl::NotFoundError(
        absl::StrCat(directory, " has no run; give the output_dir of a run that made a step"));
  }
  RunStatus status;
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, checkpoints_of(files, directory)));
  for (const ListedCheckpoint& checkpoint : checkpoints) {
    if (checkpoint.reader == nullptr) continue;
    const auto& progress = checkpoint.reader->manifest().progress();
    status.checkpoint = checkpoint.path;
    status.checkpoint_step = status.step = checkpoint.step;
    status.epoch = progress.epoch();
    status.window = progress.window();
  }
  if (!written.is_null()) {
    status.age = std::max(absl::ZeroDuration(), now - time_of(written, "written"));
    status.host = field<std::string>(written, "host", "");
    status.process = field<int64_t>(written, "process", 0);
    status.world_size = field<int64_t>(written, "world_size", 0);
    status.step = field(written, "step", status.step);
    status.epoch = field(written, "epoch", status.epoch);
    status.window = field(written, "window", status.window);
  }
  RETURN_IF_ERROR(decide_state(files, directory, written, status));
  return status;
}

std::string run_status_json(const RunStatus& status) {
  Ordered json;
  json["state"] = status.state;
  json["stop_reason"] = status.stop_reason;
  json["error"] = status.error;
  json["step"] = status.step;
  json["epoch"] = status.epoch;
  json["window"] = status.window;
  json["phase"] = status.phase;
  json["loading"] = status.loading;
  const bool is_live = !status.phase.empty();
  json["seconds"] = is_live ? Ordered(status.seconds) : Ordered(nullptr);
  json["exchanges"] = status.exchanges;
  json["waits_for"] = Ordered::array();
  for (const AwaitedRank& rank : status.waits_for) {
    json["waits_for"].push_back({{"rank", rank.rank}, {"phase", rank.phase}, {"step", rank.step}});
  }
  json["healthy"] = is_live ? Ordered(status.healthy) : Ordered(nullptr);
  json["health"] = status.health;
  json["checkpoint"] = status.checkpoint;
  json["checkpoint_step"] = status.checkpoint_step;
  json["age_seconds"] =
      status.age.has_value() ? Ordered(absl::ToDoubleSeconds(*status.age)) : Ordered(nullptr);
  json["host"] = status.host;
  json["process"] = status.process;
  json["world_size"] = status.world_size;
  return json.dump(-1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

std::string run_status_text(const RunStatus& status) {
  std::string text = status.state;
  if (!status.stop_reason.empty()) absl::StrAppend(&text, " (", status.stop_reason, ")");
  absl::StrAppend(&text, ": step ", status.step, ", ", counted(status.epoch, "epoch"), " and ",
                  counted(status.window, "window"), " finished\n");
  if (status.state == "running" && status.phase.empty()) {
    absl::StrAppend(&text, "the process starts and has written no status yet\n");
  } else if (!status.phase.empty()) {
    absl::StrAppend(
        &text, status.phase, " of step ", status.step, status.loading ? ", loading" : "",
        status.exchanges ? absl::StrCat(", waits for ", awaited_text(status.waits_for)) : "",
        absl::StrFormat(" for %.1f s\n", status.seconds));
    if (!status.healthy) absl::StrAppend(&text, "unhealthy: ", status.health, "\n");
  }
  if (!status.error.empty()) absl::StrAppend(&text, "error: ", status.error, "\n");
  absl::StrAppend(&text, "checkpoint: ", status.checkpoint.empty() ? "none" : status.checkpoint,
                  "\n");
  if (status.age.has_value()) {
    absl::StrAppend(
        &text, "process ", status.process, " on ", status.host, ", ranks: ", status.world_size,
        absl::StrFormat("; its status is %.0f s old\n", absl::ToDoubleSeconds(*status.age)));
  }
  return text;
}

}  // namespace millrace
