// The event log and the summary of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "framework/loop/loop_position.h"
#include "framework/loop/stop_state.h"
#include "framework/report/event_log.h"
#include "framework/report/summary.h"
#include "hook/requests.h"

namespace millrace {

// Records the actions of the loop, which never reads the records. Used on the trainer's thread.
class LoopRecorder {
 public:
  // Borrows both references. `log`: null: events are dropped.
  LoopRecorder(EventLog* log, const LoopPosition& position, int rank, int world_size);

  // Begins a run with an empty summary. `what`: "train" or "evaluate". `checkpoint`: path of the
  // checkpoint that training continues from; "": none.
  void begin_run(absl::string_view what, absl::string_view checkpoint = "");
  // Completes the summary and records the end of the run. `failed_rank`: the lowest rank that
  // failed; -1: this rank. REQUIRES: the caller has set checkpoint, hooks, rows and steps_begun.
  void end_run(const absl::Status& outcome, const StopState& stop, int failed_rank);

  // Records that the trainer did `what` without a request.
  void served(absl::string_view what, absl::string_view detail);
  // Records the beginning, or the end, of an epoch or a window. `name`: its number or name.
  void opened(absl::string_view what, absl::string_view name);
  void closed(absl::string_view what, absl::string_view name);
  // Records that rows of all ranks were evicted since the last report. `rows`: reason → number.
  void evicted(absl::string_view table, const std::map<std::string, int64_t>& rows);
  // Records that a step was not applied.
  void refused_step(absl::string_view reason);
  void requested(const RequestSet& requests, Scope scope);
  void served(const Request& request, Scope scope);
  // Records all requests of one kind as served.
  void served(Request::Kind kind, const RequestSet& requests, Scope scope);

  Summary& summary() { return summary_; }
  const Summary& summary() const { return summary_; }

 private:
  void record(LoopEvent::Kind kind, absl::string_view what, absl::string_view detail, int rank);
  void record(LoopEvent::Kind kind, const Request& request, Scope scope);

  EventLog* const log_;
  const LoopPosition& position_;
  const int rank_;
  const int world_size_;
  std::string what_;
  Progress began_;  // of this run
  Summary summary_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_RECORDER_H_
