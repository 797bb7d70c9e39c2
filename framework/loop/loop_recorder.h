// The event log and the summary of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "framework/loop/loop_state.h"
#include "framework/report/event_log.h"
#include "framework/report/summary.h"
#include "hook/events.h"
#include "hook/hook_statistics.h"
#include "hook/requests.h"

namespace millrace {

// Figures of a whole run, for its Summary.
struct RunFigures {
  int64_t steps_begun = 0;
  int64_t bad_examples = 0;         // skipped as bad data
  std::string checkpoint;           // see Summary
  std::optional<BestSummary> best;  // see Summary
  std::map<std::string, HookStatistics> hooks;
  RunTimes times;
  std::map<std::string, int64_t> rows;  // table → rows
};

// Records the actions of the loop, which never decides by the records. Used on the trainer's
// thread.
class LoopRecorder {
 public:
  // Borrows both references. `log`: null: events are dropped.
  LoopRecorder(EventLog* log, const LoopState& loop, int rank, int world_size);

  // Begins a run with an empty summary. `what`: "train" or "evaluate". `checkpoint`: path of the
  // checkpoint that training continues from; "": none.
  void begin_run(absl::string_view what, absl::string_view checkpoint = "");
  // Completes the summary with `figures` and records the end of the run. `failed_rank`: the lowest
  // rank that failed; -1: this rank.
  void end_run(const absl::Status& outcome, int failed_rank, RunFigures figures);

  // Records that the trainer did `what` without a request.
  void served(absl::string_view what, absl::string_view detail);
  // Records the beginning, or the end, of an epoch or a window. `name`: its number or name.
  void opened(absl::string_view what, absl::string_view name);
  void closed(absl::string_view what, absl::string_view name);
  // Records that a window was skipped as damaged.
  void damaged_window() { ++summary_.damaged_windows; }
  // Records examples of this rank that were skipped as bad data.
  void bad_examples(int64_t examples) { summary_.bad_examples += examples; }
  // Records examples of all ranks that were dropped after a rank ran out of data.
  void dropped_examples(int64_t examples) { summary_.dropped_examples += examples; }
  // Records a report of training, and the rows of all ranks that were evicted since the last one.
  void reported(const Report& report);
  // Records the result of an evaluation.
  void evaluated(const EvaluationResult& result);
  // Records that a step was not applied.
  void refused_step(absl::string_view reason);
  void requested(const RequestSet& requests, Scope scope);
  void served(const Request& request, Scope scope);
  // Records all requests of one kind as served.
  void served(Request::Kind kind, const RequestSet& requests, Scope scope);

  const Summary& summary() const { return summary_; }

 private:
  void record(LoopEvent::Kind kind, absl::string_view what, absl::string_view detail, int rank);
  void record(LoopEvent::Kind kind, const Request& request, Scope scope);

  EventLog* const log_;
  const LoopState& loop_;
  const int rank_;
  const int world_size_;
  std::string what_;
  Progress began_;  // of this run
  Summary summary_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_
