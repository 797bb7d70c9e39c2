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
#include "hook/hook.h"
#include "hooks/console/console_text.h"

namespace millrace {

struct LoggerOptions {
  // If true, updates a single line in place, for a terminal. If false, writes a line per report.
  bool progress_line = false;
  // Returns the number of columns of the terminal, to which progress_line fits lines of figures.
  // Called at each drawing, from any thread. Default: 80 columns.
  std::function<int64_t()> columns = nullptr;
  // If true, with progress_line, warnings are yellow, errors red and evaluations bold.
  bool colors = false;
  // Metrics on lines of figures, in addition to the loss. Empty: auc, logloss and ne, the auc of
  // each label, and `more_metrics`.
  std::vector<std::string> metrics = {};
  // Names of metrics, shown also as "LABEL/NAME".
  std::vector<std::string> more_metrics = {};
  int64_t max_steps = 0;  // known limits, for the time left; 0: none
  int64_t max_epochs = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
  // Approximate number of steps of an epoch, used until an epoch has ended; 0: not known.
  int64_t epoch_steps = 0;
};

// Writes the figures of reports (step, epoch, examples/s, loss, AUC, rows, the remaining time if a
// limit is known) and of evaluations to `out`, on rank 0. Omits a `logloss` equal to `loss`. Gives
// the number of steps of a report that covers less than half of the steps of the report before.
//
// Writes a line per report by default. With progress_line, a single line changes with every step,
// with a bar if a limit is known. The line is drawn at most five times a second and once more at
// the end. Lines of evaluations, log lines of all threads and, at most every five seconds, the
// figures of a report remain above. Lines of figures never exceed the width of the terminal: less
// important figures are omitted.
class LoggerHook : public Hook {
 public:
  // Borrows `out` and `clock`.
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
  // `color`: an ECMA-48 sequence at the beginning of the line; "": none.
  void write_line(const std::string& line, const char* color = "");
  void move_to(const Progress& progress);
  void set_line(ConsoleLine line);
  // Returns the maximum length of a line in one terminal row; without progress_line unlimited.
  int64_t width() const;
  void draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void erase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void release_log_sink();
  // Returns progress, with a bar if `bar` and a limit is known, and the figures of the last report.
  ConsoleLine figures_line(const Progress& progress, bool bar) const;
  // Returns the completed share of the run, in [0, 1]; not-a-number: not known.
  double share_done(const Progress& progress) const;
  // Returns the time until the first limit, at the speed of this run after its first step;
  // infinite: not known, as before 10 steps within 5 seconds.
  absl::Duration time_left(const Progress& progress) const;

  const LoggerOptions options_;
  std::ostream& out_;
  Clock& clock_;
  bool moving_ = false;      // between start and end, with a progress line
  ConsoleLine report_line_;  // of the last report
  absl::Duration last_draw_ = absl::ZeroDuration();
  absl::Duration last_kept_ = absl::ZeroDuration();  // when a report last became a permanent line
  std::string kept_;                                 // the permanent line
  bool stale_ = false;  // true if the line lacks a part of latest_ or report_line_
  Progress latest_;
  Progress started_at_;
  Progress speed_from_;       // after the first step of this run, or else at its start
  int64_t report_steps_ = 0;  // of the last report
  Progress epoch_began_;      // at the beginning of the open epoch
  // Progress at the end of the last whole epoch of this run, and the epoch's length. Before such an
  // epoch the length is LoggerOptions::epoch_steps.
  Progress epoch_ended_;
  int64_t epoch_steps_ = 0;
  Mutex mutex_;  // log lines come from any thread; also serialises `out_`
  ConsoleLine line_ ABSL_GUARDED_BY(mutex_);   // the progress line
  std::string drawn_ ABSL_GUARDED_BY(mutex_);  // its text on the terminal
};

// Returns 1234567 as "1.23 M", with three digits, so that columns stay narrow.
std::string short_number(double value);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_LOGGER_HOOK_H_
