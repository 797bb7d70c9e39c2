// Records the operators of LibTorch, and annotations on the same time line.
#ifndef MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_
#define MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hooks/inspect/chrome_trace.h"

namespace millrace {

// A session of LibTorch's profiler for the thread that begins the session. All calls must come from
// this thread. A process has at most one session at a time, since the profiler is global.
// Annotations are nested.
//
//   ASSIGN_OR_RETURN(auto recorder, TraceRecorder::begin(/*record_shapes=*/false));
//   recorder->open("step 7");
//   ...
//   recorder->close();
//   ASSIGN_OR_RETURN(const std::vector<TraceEvent> events, recorder->finish());
class TraceRecorder {
 public:
  // Starts to record. Errors: FailedPrecondition if the process already records; errors of
  // catch_exceptions() for exceptions of LibTorch.
  static absl::StatusOr<std::unique_ptr<TraceRecorder>> begin(bool record_shapes);
  // Drops the recorded events unless finish() was called.
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  // Begins an annotation.
  void open(absl::string_view name);
  // Begins the annotation "forward". When LibTorch begins to compute gradients, "forward" ends and
  // "backward" begins.
  void open_passes();
  // Ends the innermost annotation. A `name` replaces the annotation's name. Does nothing without an
  // open annotation.
  void close(absl::string_view name = "");

  // Operators, and annotations that begin, are omitted from pause() to resume().
  void pause();
  void resume();

  // Ends all open annotations and the session. Returns: the completed events, ordered by thread and
  // start, an outer event before inner events. Errors: FailedPrecondition after an earlier call;
  // errors of catch_exceptions().
  absl::StatusOr<std::vector<TraceEvent>> finish();

 private:
  class Session;
  explicit TraceRecorder(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session_;  // null after finish()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_
