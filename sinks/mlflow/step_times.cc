#include "sinks/mlflow/step_times.h"

#include <algorithm>
#include <utility>
#include <vector>

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

StepTimes::StepTimes(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

absl::Status StepTimes::start(int64_t first_step) {
  file_.reset();
  earlier_.clear();
  last_step_ = -1;
  const auto opened = LineReader::open(files_, path_);
  if (absl::IsNotFound(opened.status())) return absl::OkStatus();
  RETURN_IF_ERROR(opened.status());
  std::map<int64_t, int64_t> times;
  for (absl::string_view line;;) {
    ASSIGN_OR_RETURN(const bool more, (*opened)->next(line));
    if (!more) break;
    std::pair<int64_t, int64_t> time;
    if (parse(line, &time)) times.insert(time);
    if (times.size() > kMostSteps) times.erase(times.begin());
  }
  earlier_.insert(times.lower_bound(first_step), times.end());
  return write_file_atomically(files_, path_, [&](WritableFile& file) -> absl::Status {
    std::string lines;
    for (const auto& [step, time_ms] : times) lines += time_line(step, time_ms);
    return file.append(lines);
  });
}

absl::StatusOr<int64_t> StepTimes::time_of(int64_t step, int64_t now_ms) {
  if (step == last_step_) return last_time_ms_;
  const auto earlier = earlier_.find(step);
  last_step_ = step;
  last_time_ms_ = earlier == earlier_.end() ? now_ms : earlier->second;
  if (earlier != earlier_.end()) return last_time_ms_;
  if (file_ == nullptr) {
    RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
    ASSIGN_OR_RETURN(file_, files_.open_for_append(path_));
  }
  if (const absl::Status status = file_->append(time_line(step, now_ms)); !status.ok()) {
    file_.reset();
    return status;
  }
  return last_time_ms_;
}

absl::Status StepTimes::sync() {
  if (file_ == nullptr) return absl::OkStatus();
  if (absl::IsNotFound(files_.link_info(path_).status())) {
    file_.reset();
    return absl::OkStatus();
  }
  const absl::Status status = file_->sync();
  if (!status.ok()) file_.reset();
  return status;
}

}  // namespace millrace
