#include "io/window/time_window_source.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// The number of steps after a missing step to search for complete steps.
constexpr int64_t kLookAhead = 32;

absl::Time time_or(const std::string& text, absl::Time otherwise) {
  const absl::StatusOr<absl::Time> time = parse_window_time(text);
  return time.ok() ? *time : otherwise;
}

}  // namespace

absl::StatusOr<absl::Time> parse_window_time(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", text, &time, &error)) return time;
  return absl::InvalidArgumentError("must be written as 2026-01-31T00:00:00Z");
}

TimeWindowSource::TimeWindowSource(FileSystem& files, const TimeWindows& config)
    : files_(files),
      config_(config),
      start_(time_or(config.start(), absl::UnixEpoch())),
      end_(time_or(config.end(), absl::InfiniteFuture())) {
  const std::string& path = config.path();
  const size_t slash = path.substr(0, path.find('%')).rfind('/');
  root_ = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  form_ = path.substr(root_.size());
}

std::string TimeWindowSource::path_of(const std::string& name) const { return root_ + name; }

std::string TimeWindowSource::name_at(int64_t step) const {
  const absl::Time time = start_ + step * absl::Seconds(config_.step_seconds());
  return absl::FormatTime(form_, time, absl::UTCTimeZone());
}

bool TimeWindowSource::is_over(int64_t step) const {
  return start_ + step * absl::Seconds(config_.step_seconds()) >= end_;
}

absl::StatusOr<bool> TimeWindowSource::is_whole(int64_t step) const {
  const std::string directory = path_of(name_at(step));
  const auto info = files_.info(
      config_.marker().empty() ? directory : absl::StrCat(directory, "/", config_.marker()));
  if (absl::IsNotFound(info.status())) return false;
  RETURN_IF_ERROR(info.status());
  return !config_.marker().empty() || info->is_directory;
}

absl::StatusOr<int64_t> TimeWindowSource::later_whole(int64_t step) const {
  for (int64_t later = step + 1; later <= step + kLookAhead && !is_over(later); ++later) {
    ASSIGN_OR_RETURN(const bool whole, is_whole(later));
    if (whole) return later;
  }
  return -1;
}

absl::StatusOr<Found> TimeWindowSource::find(bool no_more, WindowPosition& position) {
  for (int64_t step = position.taken_count(); !is_over(step); ++step) {
    ASSIGN_OR_RETURN(bool whole, is_whole(step));
    if (!whole && no_more) return Found::kEnded;
    int64_t later = -1;
    if (!whole) {
      ASSIGN_OR_RETURN(later, later_whole(step));
      // Both steps may have come since the first look at this one, the later one last.
      if (later >= 0) {
        ASSIGN_OR_RETURN(whole, is_whole(step));
      }
    }
    if (whole) {
      RETURN_IF_ERROR(take(step, position));
      ++seen_;
      return Found::kWindow;
    }
    const std::string directory = path_of(name_at(step));
    waits_for_ = absl::StrCat(directory, config_.marker().empty() ? "" : "/", config_.marker());
    if (later < 0) return Found::kNotYet;
    const std::string missing =
        absl::StrCat(waits_for_, " is missing while ", name_at(later), " is there");
    if (config_.missing() == TimeWindows::FAIL) {
      return absl::DataLossError(absl::StrCat(
          missing,
          " (windows.time.missing: FAIL). Bring it to go on; a job that starts anew may "
          "have WAIT or SKIP"));
    }
    waits_for_ = missing;
    if (config_.missing() == TimeWindows::WAIT) return Found::kNotYet;
    if (skipped_.insert(step).second) MILLRACE_LOG(WARNING) << missing << "; it is left out";
  }
  return Found::kEnded;
}

absl::Status TimeWindowSource::take(int64_t step, WindowPosition& position) const {
  const std::string name = name_at(step);
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(path_of(name)));
  position.clear_file();
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == FileKind::kDirectory || !is_data_name(entry.name, config_.pattern())) {
      continue;
    }
    position.add_file()->set_name(absl::StrCat(name, "/", entry.name));
  }
  position.set_name(name);
  position.set_taken_count(step + 1);
  return absl::OkStatus();
}

}  // namespace millrace
