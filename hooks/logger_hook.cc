#include "hooks/logger_hook.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/log.h"
#include "base/utf8/characters.h"
#include "framework/report/span_metrics.h"
#include "hooks/console/console_text.h"

namespace millrace {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(200);
constexpr absl::Duration kKeep = absl::Seconds(5);
constexpr int64_t kDefaultColumns = 80;
constexpr int kBarColumns = 10;
// Sequences of ECMA-48.
constexpr char kBold[] = "\x1b[1m";
constexpr char kYellow[] = "\x1b[33m";
constexpr char kRed[] = "\x1b[31m";
constexpr char kPlain[] = "\x1b[0m";

const char* color_of(LogSeverity severity) {
  switch (severity) {
    case LogSeverity::WARNING: return kYellow;
    case LogSeverity::ERROR: return kRed;
    default: return "";
  }
}

// Returns "[=====>    ]".
std::string bar_text(double share) {
  const int done = static_cast<int>(share * kBarColumns);
  std::string bar(done, '=');
  if (done < kBarColumns) bar += '>';
  bar.resize(kBarColumns, ' ');
  return absl::StrCat("[", bar, "]");
}

// Importance of items on a narrow terminal, in ascending order.
enum Importance {
  kOfUnknownIds,
  kOfMoreMetrics,
  kOfLogloss,
  kOfExamples,
  kOfNe,
  kOfRows,
  kOfEpoch,
  kOfBar,
  kOfTimeLeft,
  kOfReportSteps,
  kOfSpeed,
  kOfAuc,
  kOfLoss,
  kOfSet,
  kOfStep
};

constexpr int kMostDecimals = 4;
// Steps, or time, of a run before its speed says how long the rest takes.
constexpr int64_t kFewestSteps = 10;
constexpr absl::Duration kFewestTime = absl::Seconds(5);

// Adds a metric that exists and is finite; other metrics are only in the metrics files.
void add_metric(const std::map<std::string, double>& metrics, const std::string& name,
                Importance importance, ConsoleLine& line) {
  const auto found = metrics.find(name);
  if (found == metrics.end() || !std::isfinite(found->second)) return;
  line.add(metric_text(name, found->second, kMostDecimals), importance);
}

// Returns the label of "LABEL/METRIC"; "" for a metric of a slice, a span or without a label.
absl::string_view label_of(absl::string_view name) {
  const size_t end = name.rfind('/');
  if (end == name.npos) return "";
  const absl::string_view label = name.substr(0, end);
  if (label.find_first_of("/=") != label.npos) return "";
  return is_span_name(label) ? "" : label;
}

// Returns true for "METRIC" and "LABEL/METRIC".
bool is_metric(absl::string_view name, absl::string_view metric) {
  if (name == metric) return true;
  const absl::string_view label = label_of(name);
  return !label.empty() && name.substr(label.size() + 1) == metric;
}

void add_rows(const std::map<std::string, TableReport>& tables, ConsoleLine& line) {
  if (tables.empty()) return;
  int64_t rows = 0;
  for (const auto& [name, table] : tables) rows += table.rows;
  line.add(absl::StrCat("rows ", short_number(static_cast<double>(rows))), kOfRows);
}

std::string duration_text(absl::Duration duration) {
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 3600) return absl::StrFormat("%d:%02d", seconds / 60, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace

void LoggerHook::add_metrics(const std::map<std::string, double>& metrics,
                             ConsoleLine& line) const {
  add_metric(metrics, "loss", kOfLoss, line);
  for (const std::string& name : options_.metrics) {
    if (name != "loss") add_metric(metrics, name, kOfAuc, line);
  }
  if (!options_.metrics.empty()) return;
  for (const auto& [name, value] : metrics) {
    if (is_metric(name, "auc")) add_metric(metrics, name, kOfAuc, line);
  }
  if (!logloss_repeats_loss(metrics, 4)) add_metric(metrics, "logloss", kOfLogloss, line);
  add_metric(metrics, "ne", kOfNe, line);
  for (const std::string& more : options_.more_metrics) {
    if (more == "auc" || more == "logloss" || more == "ne") continue;
    for (const auto& [name, value] : metrics) {
      if (is_metric(name, more)) add_metric(metrics, name, kOfMoreMetrics, line);
    }
  }
}

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
  speed_from_ = started_at_;
  report_steps_ = 0;
  epoch_steps_ = options_.epoch_steps;
  epoch_ended_ = started_at_;
  epoch_ended_.step = std::min(started_at_.step, started_at_.epoch * epoch_steps_);
  report_line_ = ConsoleLine();
  last_draw_ = -absl::InfiniteDuration();
  last_kept_ = -absl::InfiniteDuration();
  kept_.clear();
  stale_ = false;
  moving_ = options_.progress_line && context.rank() == 0;
  if (!moving_) return absl::OkStatus();
  set_log_sink([this](LogSeverity severity, absl::string_view line) {
    write_line(std::string(line), color_of(severity));
  });
  return absl::OkStatus();
}

absl::Status LoggerHook::after_step(HookContext& context, const StepResult&) {
  // The first step of a process allocates memory and waits for data, unlike the others.
  if (context.phase() == Phase::kTrain && context.progress().step == started_at_.step + 1) {
    speed_from_ = context.progress();
  }
  if (moving_ && context.phase() == Phase::kTrain) move_to(context.progress());
  return absl::OkStatus();
}

absl::Status LoggerHook::before_epoch(HookContext& context) {
  epoch_began_ = context.progress();
  return absl::OkStatus();
}

absl::Status LoggerHook::after_epoch(HookContext& context) {
  // The first epoch of a resumed run may be incomplete.
  const bool whole = started_at_.step == 0 || epoch_began_.epoch > started_at_.epoch;
  if (context.phase() == Phase::kEvaluate || !whole) return absl::OkStatus();
  epoch_ended_ = context.progress();
  epoch_steps_ = epoch_ended_.step - epoch_began_.step;
  return absl::OkStatus();
}

absl::Status LoggerHook::after_report(HookContext& context, const Report& report) {
  if (context.rank() != 0) return absl::OkStatus();
  report_line_ = ConsoleLine();
  report_line_.add(absl::StrCat(short_number(report.examples_per_second), " examples/s"), kOfSpeed);
  if (is_short(report, report_steps_)) {
    report_line_.add(absl::StrCat("last ", report.steps, report.steps == 1 ? " step:" : " steps:"),
                     kOfReportSteps);
  }
  report_steps_ = report.steps;
  add_metrics(report.metrics, report_line_);
  add_rows(report.tables, report_line_);
  const ConsoleLine line = figures_line(report.progress, /*bar=*/false);
  const absl::Duration now = clock_.elapsed();
  if (!moving_) {
    write_figures(line);
  } else if (now - last_kept_ >= kKeep) {
    last_kept_ = now;
    kept_ = line.text(width());
    write_line(kept_);
  }
  if (moving_) move_to(report.progress);
  return absl::OkStatus();
}

absl::Status LoggerHook::after_evaluate(HookContext& context, const EvaluationResult& result) {
  if (context.rank() != 0) return absl::OkStatus();
  ConsoleLine line;
  line.add(absl::StrCat("step ", result.progress.step), kOfStep);
  line.add(absl::StrCat(result.set, ":"), kOfSet);
  add_metrics(result.metrics, line);
  line.add(absl::StrCat(result.examples, " examples in ",
                        absl::StrFormat("%.2f s", absl::ToDoubleSeconds(result.elapsed))),
           kOfExamples);
  const std::string unknown = unknown_ids_text(result.unknown_shares);
  if (!unknown.empty()) line.add(unknown, kOfUnknownIds);
  write_figures(line, kBold);
  return absl::OkStatus();
}

absl::Status LoggerHook::end(HookContext&, const absl::Status&) {
  if (!moving_) return absl::OkStatus();
  if (stale_ || !std::isnan(share_done(latest_))) set_line(figures_line(latest_, /*bar=*/false));
  {
    MutexLock lock(mutex_);
    if (drawn_ == kept_) {
      erase();  // the line above has the same text
    } else if (!drawn_.empty()) {
      out_ << '\n';
    }
    out_.flush();
    line_ = ConsoleLine();
    drawn_.clear();
  }
  release_log_sink();
  return absl::OkStatus();
}

void LoggerHook::write_figures(const ConsoleLine& line, const char* color) {
  write_line(line.text(width()), color);
}

// Also the log sink, so the function must not log, and acquires only this lock.
void LoggerHook::write_line(const std::string& line, const char* color) {
  MutexLock lock(mutex_);
  erase();
  const bool colored = options_.colors && moving_ && *color != '\0';
  out_ << (colored ? color : "") << line << (colored ? kPlain : "") << '\n';
  draw();
}

void LoggerHook::move_to(const Progress& progress) {
  latest_ = progress;
  stale_ = true;
  const absl::Duration now = clock_.elapsed();
  if (now - last_draw_ < kRedraw) return;
  last_draw_ = now;
  set_line(figures_line(progress, /*bar=*/true));
}

void LoggerHook::set_line(ConsoleLine line) {
  MutexLock lock(mutex_);
  erase();
  line_ = std::move(line);
  draw();
  stale_ = false;
}

int64_t LoggerHook::width() const {
  if (!options_.progress_line) return std::numeric_limits<int64_t>::max();
  // A line as wide as the terminal would wrap and could not be erased.
  return (options_.columns ? options_.columns() : kDefaultColumns) - 1;
}

void LoggerHook::draw() {
  drawn_ = line_.text(width());
  out_ << drawn_;
  out_.flush();
}

// Returns to the beginning of the line and clears the rest. A terminal that became narrower has
// wrapped the line into several rows.
void LoggerHook::erase() {
  if (drawn_.empty()) return;
  const int64_t columns = width() + 1;
  const int64_t rows = (static_cast<int64_t>(count_characters(drawn_)) - 1) / columns;
  out_ << '\r';
  if (rows > 0) out_ << "\x1b[" << rows << 'A';
  out_ << (rows > 0 ? "\x1b[J" : "\x1b[K");
}

void LoggerHook::release_log_sink() {
  if (moving_) set_log_sink({});
  moving_ = false;
}

ConsoleLine LoggerHook::figures_line(const Progress& progress, bool bar) const {
  ConsoleLine line;
  std::string step = absl::StrCat("step ", progress.step);
  if (options_.max_steps > 0) absl::StrAppend(&step, "/", options_.max_steps);
  line.add(std::move(step), kOfStep);
  // No epoch follows the end of the last one.
  const bool last = options_.max_epochs > 0 && progress.epoch >= options_.max_epochs;
  std::string epoch = absl::StrCat("epoch ", last ? progress.epoch : progress.epoch + 1);
  if (options_.max_epochs > 0) absl::StrAppend(&epoch, "/", options_.max_epochs);
  line.add(std::move(epoch), kOfEpoch);
  const absl::Duration left = time_left(progress);
  if (left > absl::ZeroDuration() && left < absl::InfiniteDuration()) {
    line.add(duration_text(left) + " left", kOfTimeLeft);
  }
  const double share = share_done(progress);
  if (bar && !std::isnan(share)) line.add(bar_text(share), kOfBar);
  line.add(report_line_);
  return line;
}

double LoggerHook::share_done(const Progress& progress) const {
  double share = std::numeric_limits<double>::quiet_NaN();
  const auto add = [&](double done, double all) {
    if (all > 0) share = std::fmax(share, std::min(done / all, 1.0));
  };
  add(static_cast<double>(progress.step), static_cast<double>(options_.max_steps));
  if (options_.max_elapsed > absl::ZeroDuration()) {
    add(absl::FDivDuration(progress.elapsed, options_.max_elapsed), 1);
  }
  if (options_.max_epochs > 0 && progress.epoch >= options_.max_epochs) return 1;
  if (options_.max_epochs > 0 && epoch_steps_ > 0) {
    const auto in_epoch =
        static_cast<double>(progress.step - epoch_ended_.step) / static_cast<double>(epoch_steps_);
    add(static_cast<double>(epoch_ended_.epoch) + in_epoch,
        static_cast<double>(options_.max_epochs));
  }
  return share;
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
  const int64_t done = progress.step - speed_from_.step;
  const absl::Duration time = progress.elapsed - speed_from_.elapsed;
  const bool is_early = done < kFewestSteps && time < kFewestTime;
  if (steps_left < 0 || done <= 0 || is_early) return left;
  return std::min(left, time * (static_cast<double>(steps_left) / static_cast<double>(done)));
}

}  // namespace millrace
