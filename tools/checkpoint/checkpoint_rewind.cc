#include "tools/checkpoint/checkpoint_rewind.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/lines/file_lines.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/directory_lock.h"
#include "framework/report/jsonl_event_log.h"

namespace millrace {
namespace {

// A line of windows.jsonl.
struct Finished {
  int64_t window = 0;
  std::string name;
  int64_t step = 0;  // after its last step
  std::vector<std::string> files;
};

// Returns none for another line.
std::optional<Finished> parse(absl::string_view line) {
  const auto json =
      nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("window") || !json.contains("step")) return std::nullopt;
  if (!json["window"].is_number_integer() || !json["step"].is_number_integer()) return std::nullopt;
  Finished finished{.window = json["window"].get<int64_t>(), .step = json["step"].get<int64_t>()};
  if (json.contains("name") && json["name"].is_string()) finished.name = json["name"];
  if (!json.contains("files") || !json["files"].is_array()) return finished;
  for (const auto& file : json["files"]) {
    if (file.is_string()) finished.files.push_back(file);
  }
  return finished;
}

absl::StatusOr<std::vector<Finished>> read_windows(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(path, " is missing: no window of this job is in a checkpoint"));
  }
  RETURN_IF_ERROR(text.status());
  std::vector<Finished> windows;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    if (const std::optional<Finished> finished = parse(line)) windows.push_back(*finished);
  }
  return windows;
}

// Returns the number of a window. One behind the last is that which was open.
absl::StatusOr<int64_t> number_of(const std::vector<Finished>& windows, const std::string& window) {
  std::vector<int64_t> numbers;
  for (const Finished& finished : windows) {
    if (finished.name == window) numbers.push_back(finished.window);
  }
  if (numbers.size() == 1) return numbers.front();
  if (numbers.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(numbers.size(), " windows have the name ",
                                                   window, "; give a number, such as ",
                                                   numbers.back()));
  }
  int64_t number = 0;
  const int64_t count = windows.empty() ? 0 : windows.back().window + 1;
  if (absl::SimpleAtoi(window, &number) && number >= 0 && number <= count) return number;
  if (windows.empty()) return absl::NotFoundError("no window of this job is in a checkpoint");
  return absl::NotFoundError(absl::StrCat("no window is ", window, "; the last is number ",
                                          count - 1, ", ", windows.back().name));
}

// Returns the newest checkpoint with at most these windows and steps from which training can
// resume, as an index.
std::optional<size_t> find_start(const std::vector<ListedCheckpoint>& checkpoints, int64_t windows,
                                 int64_t step) {
  for (size_t i = checkpoints.size(); i-- > 0;) {
    const ListedCheckpoint& one = checkpoints[i];
    if (one.reader == nullptr || one.step > step || !listed_chain(checkpoints, i).ok()) continue;
    const CheckpointManifest& manifest = one.reader->manifest();
    const auto& parts = manifest.parts();
    const bool resumes =
        std::find(parts.begin(), parts.end(), CheckpointManifest::RANK_STATE) != parts.end();
    if (resumes && manifest.progress().window() <= windows) return i;
  }
  return std::nullopt;
}

// Adds the local files of a window that no longer exist.
void add_missing(FileSystem& files, const Finished& finished, std::vector<std::string>* missing) {
  for (const std::string& file : finished.files) {
    if (!is_uri(file) && absl::IsNotFound(files.link_info(file).status())) missing->push_back(file);
  }
}

}  // namespace

absl::StatusOr<Rewound> rewind_to_window(FileSystem& files, Clock& clock,
                                         const std::string& output_dir, const std::string& window,
                                         bool only_look) {
  const std::string path = join_path(output_dir, "windows.jsonl");
  const std::string folder = checkpoints_of(files, output_dir);
  ASSIGN_OR_RETURN(const std::vector<Finished> windows, read_windows(files, path));
  std::unique_ptr<DirectoryLock> lock;
  if (!only_look) {
    ASSIGN_OR_RETURN(lock, DirectoryLock::acquire(files, folder, clock));
    RETURN_IF_ERROR(clean_up(files, folder).status());
  }
  Rewound rewound;
  ASSIGN_OR_RETURN(rewound.window, number_of(windows, window));
  int64_t last_step = 0;  // before the window
  rewound.name = window;
  for (const Finished& finished : windows) {
    if (finished.window < rewound.window) last_step = finished.step;
    if (finished.window == rewound.window) rewound.name = finished.name;
  }
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  const std::optional<size_t> start = find_start(checkpoints, rewound.window, last_step);
  if (!start.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no checkpoint in ", folder, " is of step ", last_step, ", where window ", rewound.window,
        " (", rewound.name,
        ") began, or before; choose a later window, or a new output directory "
        "to begin anew. run.checkpoint.keep_last and keep_every retain more checkpoints"));
  }
  rewound.checkpoint = checkpoints[*start].path;
  rewound.step = checkpoints[*start].step;
  rewound.windows = checkpoints[*start].reader->manifest().progress().window();
  for (size_t i = checkpoints.size(); i-- > *start + 1;) {
    rewound.removed.push_back(checkpoints[i].path);
  }
  for (const Finished& finished : windows) {
    if (finished.window >= rewound.windows) add_missing(files, finished, &rewound.missing);
  }
  if (only_look) return rewound;
  // The newest first: after an interruption there is a newest one to resume from, and the windows
  // are all in the file for another call.
  for (const std::string& removed : rewound.removed) {
    RETURN_IF_ERROR(remove_checkpoint(files, removed));
  }
  const auto is_kept = [&](const std::string& line) {
    const std::optional<Finished> finished = parse(line);
    return finished.has_value() && finished->window < rewound.windows;
  };
  RETURN_IF_ERROR(rewrite_lines(files, path, {}, is_kept).status());
  JsonlEventLog events(files, clock, join_path(output_dir, "events.jsonl"), /*rank=*/0);
  LoopEvent event{.kind = LoopEvent::kRewound, .what = "window", .detail = rewound.name};
  event.progress.step = rewound.step;
  event.progress.window = rewound.windows;
  events.open();
  events.record(event);
  return rewound;
}

}  // namespace millrace
