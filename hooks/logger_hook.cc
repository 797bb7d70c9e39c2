#include "hooks/logger_hook.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/log.h"

namespace millrace {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(200);
// Shown in this order where they exist; the rest stands in the metrics files.
constexpr const char* kShown[] = {"loss", "auc", "logloss", "ne"};

std::string metrics_text(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const char* name : kShown) {
    const auto found = metrics.find(name);
    if (found != metrics.end() && std::isfinite(found->second)) {
      absl::StrAppend(&text, "  ", name, absl::StrFormat(" %.4f", found->second));
    }
  }
  return text;
}

std::string rows_text(const std::map<std::string, TableReport>& tables) {
  if (tables.empty()) return "";
  int64_t rows = 0;
  for (const auto& [name, table] : tables) rows += table.rows;
  return absl::StrCat("  rows ", short_number(static_cast<double>(rows)));
}

std::string duration_text(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 3600) return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

std::string short_number(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0 && value == std::floor(value)) return absl::StrFormat("%.0f", value);
  const int decimals = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f%s", decimals, value, kUnits[unit]);
}

LoggerHook::~LoggerHook() { release_log_sink(); }

absl::Status LoggerHook::start(HookContext& context) {
  started_at_ = context.progress();
  epoch_steps_ = 0;
  report_text_.clear();
  last_draw_ = -absl::InfiniteDuration();
  stale_ = false;
  moving_ = options_.progress_line && context.rank() == 0;
  if (!moving_) return absl::OkStatus();
  set_log_sink([this](LogSeverity, absl::string_view line) { write_line(std::string(line)); });
  return absl::OkStatus();
}

absl::Status LoggerHook::after_step(HookContext& context, const StepResult&) {
  if (moving_ && context.phase() == Phase::kTrain) move_to(context.progress());
  return absl::OkStatus();
}

absl::Status LoggerHook::before_epoch(HookContext& context) {
  epoch_began_ = context.progress();
  return absl::OkStatus();
}

absl::Status LoggerHook::after_epoch(HookContext& context) {
  // The first epoch of a resumed run may be the rest of one.
  const bool whole = started_at_.step == 0 || epoch_began_.epoch > started_at_.epoch;
  if (context.phase() == Phase::kEvaluate || !whole) return absl::OkStatus();
  epoch_ended_ = context.progress();
  epoch_steps_ = epoch_ended_.step - epoch_began_.step;
  return absl::OkStatus();
}

absl::Status LoggerHook::after_report(HookContext& context, const Report& report) {
  if (context.rank() != 0) return absl::OkStatus();
  report_text_ = absl::StrCat("  ", short_number(report.examples_per_second), " examples/s",
                              metrics_text(report.metrics), rows_text(report.tables));
  if (moving_) {
    move_to(report.progress);
  } else {
    write_line(progress_text(report.progress) + report_text_);
  }
  return absl::OkStatus();
}

absl::Status LoggerHook::after_evaluate(HookContext& context, const EvaluationResult& result) {
  if (context.rank() != 0) return absl::OkStatus();
  write_line(absl::StrCat("step ", result.progress.step, "  ", result.set, ":",
                          metrics_text(result.metrics), "  ", result.examples, " examples in ",
                          absl::StrFormat("%.2f s", absl::ToDoubleSeconds(result.elapsed))));
  return absl::OkStatus();
}

absl::Status LoggerHook::end(HookContext&, const absl::Status&) {
  if (!moving_) return absl::OkStatus();
  if (stale_) set_line(progress_text(latest_) + report_text_);
  {
    MutexLock lock(mutex_);
    if (!line_.empty()) out_ << '\n';
    out_.flush();
    line_.clear();
  }
  release_log_sink();
  return absl::OkStatus();
}

// Also the log sink: it must not log, and takes no lock but this one.
void LoggerHook::write_line(const std::string& line) {
  MutexLock lock(mutex_);
  erase();
  out_ << line << '\n';
  draw();
}

void LoggerHook::move_to(const Progress& progress) {
  latest_ = progress;
  stale_ = true;
  const absl::Duration now = clock_.elapsed();
  if (now - last_draw_ < kRedraw) return;
  last_draw_ = now;
  set_line(progress_text(progress) + report_text_);
}

void LoggerHook::set_line(std::string line) {
  MutexLock lock(mutex_);
  erase();
  line_ = std::move(line);
  // A line as wide as the terminal would already wrap, and could not be erased.
  line_.resize(std::min<size_t>(line_.size(), std::max<int64_t>(options_.columns - 1, 0)));
  draw();
  stale_ = false;
}

void LoggerHook::draw() {
  out_ << line_;
  out_.flush();
}

// Back to the first column, and clear to the end of the line.
void LoggerHook::erase() {
  if (!line_.empty()) out_ << "\r\x1b[K";
}

void LoggerHook::release_log_sink() {
  if (moving_) set_log_sink({});
  moving_ = false;
}

std::string LoggerHook::progress_text(const Progress& progress) const {
  std::string text = absl::StrCat("step ", progress.step);
  if (options_.max_steps > 0) absl::StrAppend(&text, "/", options_.max_steps);
  // At the end of the last epoch the count of finished ones is all there are.
  const bool last = options_.max_epochs > 0 && progress.epoch >= options_.max_epochs;
  absl::StrAppend(&text, "  epoch ", last ? progress.epoch : progress.epoch + 1);
  if (options_.max_epochs > 0) absl::StrAppend(&text, "/", options_.max_epochs);
  const absl::Duration left = time_left(progress);
  if (left > absl::ZeroDuration() && left < absl::InfiniteDuration()) {
    absl::StrAppend(&text, "  ", duration_text(left), " left");
  }
  return text;
}

absl::Duration LoggerHook::time_left(const Progress& progress) const {
  absl::Duration left = absl::InfiniteDuration();
  if (options_.max_elapsed > absl::ZeroDuration()) left = options_.max_elapsed - progress.elapsed;
  int64_t steps_left = options_.max_steps > 0 ? options_.max_steps - progress.step : -1;
  if (options_.max_epochs > 0 && progress.epoch >= options_.max_epochs) {
    steps_left = 0;
  } else if (options_.max_epochs > 0 && epoch_steps_ > 0) {
    const int64_t in_epochs = epoch_ended_.step - progress.step +
                              epoch_steps_ * (options_.max_epochs - epoch_ended_.epoch);
    steps_left = steps_left < 0 ? in_epochs : std::min(steps_left, in_epochs);
  }
  if (steps_left == 0) return absl::ZeroDuration();
  const int64_t done = progress.step - started_at_.step;
  if (steps_left < 0 || done <= 0) return left;
  return std::min(left, (progress.elapsed - started_at_.elapsed) *
                            (static_cast<double>(steps_left) / static_cast<double>(done)));
}

}  // namespace millrace
