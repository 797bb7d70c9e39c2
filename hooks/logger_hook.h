// Lines for people.
#ifndef MILLRACE_HOOKS_LOGGER_HOOK_H_
#define MILLRACE_HOOKS_LOGGER_HOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "framework/hook.h"
#include "hooks/console/console_line.h"

namespace millrace {

struct LoggerOptions {
  // If true, shows one line that moves, for a terminal; else writes a line per report.
  bool progress_line = false;
  // With progress_line: the columns of the terminal, which lines of figures fit. Called at each
  // drawing, from any thread. Default: 80 columns.
  std::function<int64_t()> columns = nullptr;
  // With progress_line: whether warnings are yellow, errors red and evaluations bold.
  bool colors = false;
  // Metrics on lines of figures, besides the loss. Empty: auc, logloss and ne, the auc of each
  // label, and `more_metrics`.
  std::vector<std::string> metrics = {};
  // Names of metrics, shown also as "LABEL/NAME".
  std::vector<std::string> more_metrics = {};
  int64_t max_steps = 0;  // known limits, for the time left; 0: none
  int64_t max_epochs = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
  // Steps that an epoch will have, about, until one has ended; 0: not known.
  int64_t epoch_steps = 0;
};

// Writes the figures of reports (step, epoch, examples/s, loss, AUC, rows, the time left if a limit
// is known) and of evaluations to `out`, on rank 0. `logloss` is omitted where it equals `loss`.
//
// Without progress_line: a line per report. With it: one line that moves with every step, with a
// bar if a limit is known, drawn at most five times a second and once more at the end. Above it
// stay the lines of evaluations, the log lines of all threads and, at most every five seconds, the
// figures of a report. No line of figures is wider than the terminal: those that matter less are
// omitted.
class LoggerHook : public Hook {
 public:
  // Borrows both.
  LoggerHook(LoggerOptions options, std::ostream& out, Clock& clock)
      : options_(options), out_(out), clock_(clock) {}
  ~LoggerHook() override;
  absl::string_view name() const override { return "logger"; }
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status before_epoch(HookContext& context) override;
  absl::Status after_epoch(HookContext& context) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

 private:
  void add_metrics(const std::map<std::string, double>& metrics, ConsoleLine& line) const;
  void write_figures(const ConsoleLine& line, const char* color = "");
  // `color`: a sequence of ECMA-48 that the line begins with; "": none.
  void write_line(const std::string& line, const char* color = "");
  void move_to(const Progress& progress);
  void set_line(ConsoleLine line);
  // The widest line that the terminal shows in one row; without progress_line no limit.
  int64_t width() const;
  void draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void erase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void release_log_sink();
  // Returns progress, with a bar if `bar` and a limit is known, and the figures of the last report.
  ConsoleLine figures_line(const Progress& progress, bool bar) const;
  // The share of the run that is done, in [0, 1]; not-a-number: not known.
  double share_done(const Progress& progress) const;
  // Until the first limit, at the speed of this run; infinite: not known.
  absl::Duration time_left(const Progress& progress) const;

  const LoggerOptions options_;
  std::ostream& out_;
  Clock& clock_;
  bool moving_ = false;      // between start and end, with a progress line
  ConsoleLine report_line_;  // of the last report
  absl::Duration last_draw_ = absl::ZeroDuration();
  absl::Duration last_kept_ = absl::ZeroDuration();  // when a report last became a line that stays
  std::string kept_;                                 // that line
  bool stale_ = false;  // whether the line lacks something of latest_ or report_line_
  Progress latest_;
  Progress started_at_;
  Progress epoch_began_;  // at the begin of the epoch that is not finished
  // At the end of the last whole epoch of this run, and its length. Before there is one, as
  // LoggerOptions::epoch_steps says, or 0.
  Progress epoch_ended_;
  int64_t epoch_steps_ = 0;
  Mutex mutex_;  // log lines come from any thread; also serialises `out_`
  ConsoleLine line_ ABSL_GUARDED_BY(mutex_);   // the progress line
  std::string drawn_ ABSL_GUARDED_BY(mutex_);  // its text on the terminal
};

// 1234567 → "1.23 M"; three digits, so that columns stay narrow.
std::string short_number(double value);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_LOGGER_HOOK_H_
