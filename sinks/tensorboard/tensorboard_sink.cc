#include "sinks/tensorboard/tensorboard_sink.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "sinks/tensorboard/earlier_events.h"
#include "sinks/tensorboard/summary_values.h"
#include "sinks/valid_utf8.h"

namespace millrace {

TensorBoardSink::TensorBoardSink(FileSystem& files, Clock& clock, TensorBoardSinkOptions options)
    : files_(files), clock_(clock), options_(std::move(options)) {}

absl::Status TensorBoardSink::start(const SinkStart& start) {
  start_ = start;
  last_step_ = start.first_step;
  file_.reset();
  return absl::OkStatus();
}

double TensorBoardSink::wall_time() const {
  return absl::ToDoubleSeconds(clock_.now() - absl::UnixEpoch());
}

// Creates one file per run. TensorBoard reads the files of a directory in the order of their names.
absl::Status TensorBoardSink::open() {
  RETURN_IF_ERROR(files_.create_directories(options_.directory));
  ASSIGN_OR_RETURN(const EarlierEvents earlier,
                   read_earlier_events(files_, options_.directory, start_));
  const std::string name =
      absl::StrCat(kEventFilePrefix, absl::Dec(absl::ToUnixMillis(clock_.now()), absl::kZeroPad14),
                   ".rank-", options_.rank);
  std::string path = join_path(options_.directory, name);
  // Runs within one millisecond.
  for (int i = 1; files_.info(path).ok(); ++i) {
    path = join_path(options_.directory, absl::StrCat(name, ".", absl::Dec(i, absl::kZeroPad4)));
  }
  const double now = wall_time();
  ASSIGN_OR_RETURN(file_, EventFile::create(files_, path, now));
  tensorboard::Event start;
  start.set_wall_time(now);
  start.set_step(start_.first_step + (earlier.comes_again ? 0 : 1));
  start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
  RETURN_IF_ERROR(file_->write(start));
  if (earlier.comes_again) {
    for (const tensorboard::Event& event : earlier.kept) RETURN_IF_ERROR(file_->write(event));
  }
  return write_configuration(now);
}

// Writes what is shown of the configuration.
absl::Status TensorBoardSink::write_configuration(double wall_time) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_step(start_.first_step);
  if (!options_.configuration.empty()) {
    *event.mutable_summary()->add_value() =
        text_value("configuration", absl::StrCat("```\n", options_.configuration, "\n```"));
  }
  if (!options_.hyper_parameters.empty()) {
    *event.mutable_summary()->add_value() =
        hyper_parameters_value(options_.hyper_parameters, wall_time);
  }
  return event.summary().value().empty() ? absl::OkStatus() : file_->write(event);
}

tensorboard::Event TensorBoardSink::event_of(int64_t step, absl::string_view prefix,
                                             const NamedNumbers& numbers) {
  tensorboard::Event event;
  event.set_wall_time(wall_time());
  event.set_step(step);
  for (const auto& [name, number] : numbers) {
    const float rounded = static_cast<float>(number);
    if (!std::isfinite(rounded)) continue;
    tensorboard::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(valid_utf8(absl::StrCat(prefix, name)));
    value.set_simple_value(rounded);
  }
  return event;
}

absl::Status TensorBoardSink::write(const tensorboard::Event& event) {
  if (file_ == nullptr) RETURN_IF_ERROR(open());
  last_step_ = std::max(last_step_, event.step());
  return file_->write(event);
}

absl::Status TensorBoardSink::write_report(const Report& report) {
  const std::string prefix = absl::StrCat(SinkStart::kTrain, "/");
  tensorboard::Event event = event_of(report.progress.step, prefix, values_of(report));
  for (const auto& [name, distribution] : report.distributions) {
    if (distribution.count == 0) continue;
    *event.mutable_summary()->add_value() = histogram_value(name, distribution);
  }
  return write(event);
}

absl::Status TensorBoardSink::write_evaluation(const EvaluationResult& result) {
  const std::string prefix = absl::StrCat(result.set, "/");
  tensorboard::Event event = event_of(result.progress.step, prefix, values_of(result));
  for (const auto& [task, weights] : result.thresholds) {
    if (weights.thresholds.empty()) continue;
    *event.mutable_summary()->add_value() =
        curve_value(absl::StrCat(prefix, task, task.empty() ? "" : "/", "pr_curve"), weights);
  }
  return write(event);
}

absl::Status TensorBoardSink::flush() {
  if (file_ == nullptr) return absl::OkStatus();
  if (!file_->is_removed()) return file_->flush();
  // TensorBoard drops events from the first step of a file on, which leaves those in other files.
  file_.reset();
  start_ = {.first_step = last_step_};
  return absl::OkStatus();
}

}  // namespace millrace
