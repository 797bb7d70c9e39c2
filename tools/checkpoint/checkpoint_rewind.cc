#include "tools/checkpoint/checkpoint_rewind.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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
  std::string line;
};

absl::StatusOr<std::vector<Finished>> read_windows(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        absl::StrCat(path, " is missing: no window of this job is in a checkpoint"));
  }
  RETURN_IF_ERROR(text.status());
  std::vector<Finished> windows;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const auto json =
        nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    // The last line of a killed process may be incomplete.
    if (!json.is_object() || !json.contains("window") || !json.contains("step")) continue;
    if (!json["window"].is_number_integer() || !json["step"].is_number_integer()) continue;
    windows.push_back({.window = json["window"].get<int64_t>(),
                       .name = json.contains("name") && json["name"].is_string()
                                   ? json["name"].get<std::string>()
                                   : "",
                       .step = json["step"].get<int64_t>(),
                       .line = std::string(line)});
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
  return absl::NotFoundError(absl::StrCat("no window is ", window, "; the last is number ",
                                          count - 1, ", ",
                                          windows.empty() ? "" : windows.back().name));
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

absl::Status drop_windows(FileSystem& files, const std::string& path,
                          const std::vector<Finished>& windows, int64_t kept) {
  std::string text;
  for (const Finished& finished : windows) {
    if (finished.window < kept) absl::StrAppend(&text, finished.line, "\n");
  }
  return write_file_atomically(files, path, text);
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
  for (const Finished& finished : windows) {
    if (finished.window < rewound.window) last_step = finished.step;
  }
  ASSIGN_OR_RETURN(const std::vector<ListedCheckpoint> checkpoints,
                   list_checkpoints(files, folder));
  const std::optional<size_t> start = find_start(checkpoints, rewound.window, last_step);
  if (!start.has_value() && last_step > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no checkpoint in ", folder, " is of step ", last_step, ", where window ", rewound.window,
        " began, or before; choose a later window. run.checkpoint.keep_last and keep_every retain "
        "more checkpoints"));
  }
  if (start.has_value()) {
    rewound.checkpoint = checkpoints[*start].path;
    rewound.step = checkpoints[*start].step;
    rewound.windows = checkpoints[*start].reader->manifest().progress().window();
  }
  for (size_t i = checkpoints.size(); i-- > (start.has_value() ? *start + 1 : 0);) {
    rewound.removed.push_back(checkpoints[i].path);
  }
  if (only_look) return rewound;
  // The newest first: after an interruption there is a newest one to resume from, and the windows
  // are all in the file for another call.
  for (const std::string& removed : rewound.removed) {
    RETURN_IF_ERROR(remove_checkpoint(files, removed));
  }
  RETURN_IF_ERROR(drop_windows(files, path, windows, rewound.windows));
  JsonlEventLog events(files, clock, join_path(output_dir, "events.jsonl"), /*rank=*/0);
  LoopEvent event{.kind = LoopEvent::kRewound, .what = "window", .detail = window};
  event.progress.step = rewound.step;
  event.progress.window = rewound.windows;
  events.open();
  events.record(event);
  return rewound;
}

}  // namespace millrace
