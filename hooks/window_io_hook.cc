#include "hooks/window_io_hook.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/lines/line_text.h"
#include "base/log.h"
#include "base/random/random_hex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int32_t kWindowIoVersion = 1;
constexpr absl::Duration kLookEvery = absl::Seconds(1);

using Json = nlohmann::ordered_json;

std::string to_line(const WindowIoState::Finished& window) {
  Json json{{"window", window.index()}, {"name", window.name()}, {"step", window.step()}};
  json["files"] = std::vector<std::string>(window.file().begin(), window.file().end());
  if (!window.damage().empty()) json["damage"] = window.damage();
  if (window.has_rows()) json["rows"] = window.rows();
  for (const auto& share : window.share()) json[share.name()] = share.share();
  return json_line(json) + "\n";
}

// Returns the part of a path that a move keeps.
std::string name_below(const std::string& path, const std::vector<std::string>& roots) {
  std::map<std::string, int> names;  // number of roots by last name
  for (const std::string& root : roots)
    ++names[base_name(std::string(absl::StripSuffix(root, "/")))];
  for (size_t i = 0; i < roots.size(); ++i) {
    const std::string root(absl::StripSuffix(roots[i], "/"));
    if (!absl::StartsWith(path, absl::StrCat(root, "/"))) continue;
    const std::string rest = path.substr(root.size() + 1), name = base_name(root);
    if (roots.size() == 1) return rest;
    return join_path(names[name] == 1 ? name : absl::StrCat(i, "-", name), rest);
  }
  return base_name(path);
}

}  // namespace

absl::Status WindowIoHook::start(HookContext& context) {
  acknowledged_ = -2;
  ahead_ = false;
  if (context.rank() != 0) state_.Clear();
  if (context.phase() != Phase::kTrain || context.rank() != 0) return absl::OkStatus();
  tried_ = !options_.roots.empty();
  for (const std::string& root : options_.roots) RETURN_IF_ERROR(try_moves(root));
  // A run resumes from a durable checkpoint.
  return state_.window_size() > 0 ? acknowledge(context.progress().window) : absl::OkStatus();
}

absl::Status WindowIoHook::before_window(HookContext& context, const Window& window) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  ahead_ = false;
  if (context.rank() != 0) return absl::OkStatus();
  if (!tried_ && !window.files.empty()) {
    RETURN_IF_ERROR(try_moves(directory_of(window.files.front())));
    tried_ = true;
  }
  read_ahead();
  return absl::OkStatus();
}

absl::Status WindowIoHook::try_moves(const std::string& from) {
  if (!options_.oldest_windows || !files_.info(from).ok()) return absl::OkStatus();
  RETURN_IF_ERROR(try_move(from, options_.move_done_to), "run.window_io.move_done_to");
  return annotate(try_move(from, options_.move_damaged_to), "run.window_io.move_damaged_to");
}

// Moves a new empty file, which no source takes for data. Two paths of one device may still be on
// different mounts.
absl::Status WindowIoHook::try_move(const std::string& from, const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  const std::string name = absl::StrCat(".millrace.tmp-", random_hex(16));
  const std::string trial = join_path(from, name), moved = join_path(folder, name);
  const auto move = [&]() -> absl::Status {
    RETURN_IF_ERROR(files_.create_directories(folder));
    ASSIGN_OR_RETURN(const std::unique_ptr<PositionedFile> file, files_.create_new(trial, 0));
    RETURN_IF_ERROR(file->close());
    return files_.rename(trial, moved);
  };
  const absl::Status status = move();
  files_.remove(status.ok() ? moved : trial).IgnoreError();
  return annotate(status, absl::StrCat("files of ", from, " cannot be moved to ", folder,
                                       "; choose a directory of the same file system, and make "
                                       "both writable"));
}

absl::Status WindowIoHook::after_step(HookContext& context, const StepResult&) {
  if (context.phase() != Phase::kTrain || !context.windowed()) return absl::OkStatus();
  if (context.report_due()) report(context);
  if (context.rank() != 0) return absl::OkStatus();
  if (!ahead_ && clock_.elapsed() - last_read_ahead_ >= kLookEvery) read_ahead();
  return absl::OkStatus();
}

void WindowIoHook::report(HookContext& context) {
  // Sums of one step must not be added twice.
  if (std::exchange(reported_step_, context.progress().steps_done()) ==
      context.progress().steps_done()) {
    return;
  }
  for (const StreamFigure& figure : windows_.figures()) {
    const bool is_sum = figure.over == StreamFigure::kSum;
    context.report(figure.name, figure.value, is_sum ? Reduction::kSum : Reduction::kMin);
  }
}

void WindowIoHook::read_ahead() {
  if (!options_.read_ahead) return;
  last_read_ahead_ = clock_.elapsed();
  for (const std::string& path : windows_.upcoming_files()) {
    options_.read_ahead(path);
    ahead_ = true;
  }
}

absl::Status WindowIoHook::after_window(HookContext& context, const Window& window) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  report(context);  // a report may follow
  if (context.rank() != 0) return absl::OkStatus();
  WindowIoState::Finished& finished = *state_.add_window();
  // Not window.index, which begins at 0 again in each epoch of a list.
  finished.set_index(context.progress().window - 1);
  finished.set_name(window.name);
  finished.set_step(context.progress().step);
  if (context.progress().epoch + 1 >= options_.epochs) {
    *finished.mutable_file() = {window.files.begin(), window.files.end()};
  }
  if (!window.damage.empty()) finished.set_damage(window.damage);
  const WindowIoState::Finished* const figures = options_.figures.get();
  if (figures != nullptr && figures->has_index() && figures->index() == finished.index()) {
    finished.set_rows(figures->rows());
    *finished.mutable_share() = figures->share();
  }
  streams_[finished.index()] = window.stream;
  return absl::OkStatus();
}

absl::Status WindowIoHook::after_checkpoint(HookContext& context,
                                            const CheckpointInfo& checkpoint) {
  if (context.rank() != 0) return absl::OkStatus();
  RETURN_IF_ERROR(acknowledge(checkpoint.progress.window));
  const auto behind = streams_.lower_bound(checkpoint.progress.window);
  if (behind != streams_.begin()) {
    windows_.saved(std::prev(behind)->second);
    streams_.erase(streams_.begin(), behind);
  }
  RETURN_IF_ERROR(move_files());
  auto& windows = *state_.mutable_window();
  windows.erase(std::remove_if(
                    windows.begin(), windows.end(),
                    [this](const auto& window) { return window.acknowledged() && !moves(window); }),
                windows.end());
  return absl::OkStatus();
}

bool WindowIoHook::moves(const WindowIoState::Finished& window) const {
  const std::string& folder =
      window.damage().empty() ? options_.move_done_to : options_.move_damaged_to;
  return !folder.empty() && window.file_size() > 0;
}

// `windows`: number of windows in a durable checkpoint.
absl::Status WindowIoHook::acknowledge(int64_t windows) {
  if (acknowledged_ == -2) {
    ASSIGN_OR_RETURN(acknowledged_, last_acknowledged());
  }
  for (WindowIoState::Finished& window : *state_.mutable_window()) {
    if (window.index() >= windows) continue;
    if (window.index() > acknowledged_) {
      RETURN_IF_ERROR(append(window));
      acknowledged_ = window.index();
    }
    window.set_acknowledged(true);
  }
  return absl::OkStatus();
}

absl::Status WindowIoHook::append(const WindowIoState::Finished& window) {
  RETURN_IF_ERROR(files_.create_directories(options_.output_dir));
  const std::string path = join_path(options_.output_dir, "windows.jsonl");
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_.open_for_append(path));
  RETURN_IF_ERROR(file->append(to_line(window)));
  RETURN_IF_ERROR(file->sync());
  RETURN_IF_ERROR(file->close());
  return files_.sync_directory(options_.output_dir);
}

// Drops an incomplete line of a killed process.
absl::StatusOr<int64_t> WindowIoHook::last_acknowledged() {
  const std::string path = join_path(options_.output_dir, "windows.jsonl");
  const absl::StatusOr<std::string> text = read_file(files_, path);
  if (absl::IsNotFound(text.status())) return -1;
  RETURN_IF_ERROR(text.status());
  const size_t whole = text->rfind('\n') + 1;  // 0 without one
  if (whole < text->size()) {
    RETURN_IF_ERROR(write_file_atomically(files_, path, absl::string_view(*text).substr(0, whole)));
  }
  int64_t last = -1;
  for (const auto line :
       absl::StrSplit(absl::string_view(*text).substr(0, whole), '\n', absl::SkipEmpty())) {
    const Json json = Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("window") && json["window"].is_number_integer()) {
      last = std::max(last, json["window"].get<int64_t>());
    }
  }
  return last;
}

absl::Status WindowIoHook::move_files() {
  if (!options_.oldest_windows) return absl::OkStatus();
  auto& windows = *state_.mutable_window();
  if (std::none_of(windows.begin(), windows.end(),
                   [this](const auto& window) { return moves(window); })) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t oldest, options_.oldest_windows());
  std::set<std::string> changed;  // directories
  for (WindowIoState::Finished& window : windows) {
    if (window.index() >= oldest || !moves(window)) continue;
    for (const std::string& file : window.file()) {
      RETURN_IF_ERROR(move_file(
          file, window.damage().empty() ? options_.move_done_to : options_.move_damaged_to,
          &changed));
    }
    window.clear_file();
  }
  for (const std::string& directory : changed) {
    RETURN_IF_ERROR(files_.sync_directory(directory));
  }
  return absl::OkStatus();
}

absl::Status WindowIoHook::move_file(const std::string& path, const std::string& folder,
                                     std::set<std::string>* changed) {
  // A missing file was moved before a kill, or by its owner.
  if (absl::IsNotFound(files_.link_info(path).status())) return absl::OkStatus();
  const std::string target = join_path(folder, name_below(path, options_.roots));
  if (files_.link_info(target).ok()) {
    MILLRACE_LOG(WARNING) << path << " stays where it is: there is a " << target;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(files_.create_directories(directory_of(target)));
  RETURN_IF_ERROR(files_.rename(path, target));
  changed->insert({directory_of(path), directory_of(target)});
  return absl::OkStatus();
}

absl::Status WindowIoHook::save_state(HookState& state) const {
  if (state_.window_size() == 0) return absl::OkStatus();
  state.version = kWindowIoVersion;
  state.bytes = state_.SerializeAsString();
  return absl::OkStatus();
}

absl::Status WindowIoHook::load_state(absl::Span<const HookState> per_rank) {
  WindowIoState state;
  for (const HookState& one : per_rank) {
    if (one.empty() || (one.version == kWindowIoVersion && state.ParseFromString(one.bytes)))
      continue;
    return absl::InvalidArgumentError(
        "the state of hook window_io is damaged or of another version");
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

}  // namespace millrace
