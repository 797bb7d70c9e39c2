#include "sinks/mlflow/step_times.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/lines/file_lines.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Parses "STEP MILLISECONDS".
bool parse(absl::string_view line, std::pair<int64_t, int64_t>* time) {
  const std::pair<absl::string_view, absl::string_view> numbers =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  return absl::SimpleAtoi(numbers.first, &time->first) &&
         absl::SimpleAtoi(numbers.second, &time->second);
}

std::string time_line(int64_t step, int64_t time_ms) {
  return absl::StrCat(step, " ", time_ms, "\n");
}

}  // namespace

void StepTimes::remember(int64_t step, int64_t time_ms) {
  times_.emplace(step, time_ms);
  if (times_.size() > kMostSteps) times_.erase(times_.begin());
}

absl::Status StepTimes::load() {
  const auto opened = LineReader::open(files_, path_);
  if (absl::IsNotFound(opened.status())) return absl::OkStatus();
  RETURN_IF_ERROR(opened.status());
  for (absl::string_view line;;) {
    ASSIGN_OR_RETURN(const bool more, (*opened)->next(line));
    if (!more) break;
    std::pair<int64_t, int64_t> time;
    if (parse(line, &time)) remember(time.first, time.second);
  }
  return rewrite();  // without older times, and without an incomplete line at the end
}

absl::Status StepTimes::rewrite() {
  std::string lines;
  for (const auto& [step, time_ms] : times_) lines += time_line(step, time_ms);
  return write_file_atomically(files_, path_, lines);
}

int64_t StepTimes::time_of(int64_t step, int64_t time_ms) {
  const auto earlier = times_.find(step);
  if (earlier != times_.end()) return earlier->second;
  remember(step, time_ms);
  unsaved_ += time_line(step, time_ms);
  return time_ms;
}

absl::Status StepTimes::save() {
  if (unsaved_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  if (torn_) {
    RETURN_IF_ERROR(rewrite());
  } else {
    torn_ = true;  // until no error can occur
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_.open_for_append(path_));
    RETURN_IF_ERROR(file->append(unsaved_));
    RETURN_IF_ERROR(file->sync());
    RETURN_IF_ERROR(file->close());
  }
  torn_ = false;
  unsaved_.clear();
  return absl::OkStatus();
}

}  // namespace millrace
