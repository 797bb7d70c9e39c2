// Lines for people.
#ifndef MILLRACE_HOOKS_LOGGER_HOOK_H_
#define MILLRACE_HOOKS_LOGGER_HOOK_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "framework/hook.h"

namespace millrace {

struct LoggerOptions {
  int64_t columns = 80;        // of the terminal: the progress line is cut to fit
  bool progress_line = false;  // one line that moves, for a terminal; else a line per report
  int64_t max_steps = 0;       // known limits, for the time left; 0: none
  int64_t max_epochs = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
};

// Writes what a report says — step, epoch, examples/s, loss, AUC, rows, time left when a limit is
// known — to `out` on rank 0: a plain line for each report, or one progress line that moves with
// every step, drawn at most five times a second and once more at the end. While the line moves, log
// lines of all threads go above it.
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
  void write_line(const std::string& line);
  void move_to(const Progress& progress);
  void set_line(std::string line);
  void draw() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void erase() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void release_log_sink();
  std::string progress_text(const Progress& progress) const;
  // Until the first limit, at the speed of this run; infinite: not known.
  absl::Duration time_left(const Progress& progress) const;

  const LoggerOptions options_;
  std::ostream& out_;
  Clock& clock_;
  bool moving_ = false;      // between start and end, with a progress line
  std::string report_text_;  // of the last report
  absl::Duration last_draw_ = absl::ZeroDuration();
  bool stale_ = false;  // whether the line says less than latest_ and report_text_
  Progress latest_;
  Progress started_at_;
  Progress epoch_began_;     // where the epoch that goes on did
  Progress epoch_ended_;     // where the last whole one of this run did
  int64_t epoch_steps_ = 0;  // its length; 0: there was none yet
  Mutex mutex_;              // log lines come from any thread; also serialises `out_`
  std::string line_ ABSL_GUARDED_BY(mutex_);  // the progress line as it stands on the terminal
};

// 1234567 → "1.23 M"; three digits, so that columns stay narrow.
std::string short_number(double value);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_LOGGER_HOOK_H_
