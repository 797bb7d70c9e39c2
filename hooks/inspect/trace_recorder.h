// Records the operators that LibTorch runs, and annotations on the same time line.
#ifndef MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_
#define MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hooks/inspect/trace_event.h"

namespace millrace {

// A session of LibTorch's profiler for the thread that begins it. All calls come from that thread.
// A process has one session at a time, since the profiler is global. Annotations nest like
// brackets.
//
//   ASSIGN_OR_RETURN(auto recorder, TraceRecorder::begin(/*record_shapes=*/false));
//   recorder->open("step 7");
//   ...
//   recorder->close();
//   ASSIGN_OR_RETURN(const std::vector<TraceEvent> events, recorder->finish());
class TraceRecorder {
 public:
  // Starts to record. Errors: FailedPrecondition if the process already records; those of
  // catch_exceptions() for exceptions of LibTorch.
  static absl::StatusOr<std::unique_ptr<TraceRecorder>> begin(bool record_shapes);
  // Drops what was recorded unless finish() was called.
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  // Begins an annotation.
  void open(absl::string_view name);
  // Begins the annotation "forward". When LibTorch begins to compute gradients, it ends and
  // "backward" begins.
  void open_passes();
  // Ends the annotation that began last. A `name` replaces the name that it had. Does nothing if
  // none is open.
  void close(absl::string_view name = "");

  // From pause() to resume() operators and annotations that begin are left out.
  void pause();
  void resume();

  // Ends all open annotations and the session. Returns: the events that ended, in the order of
  // their threads and starts, an outer one before those inside it. Errors: FailedPrecondition if
  // it was called before; those of catch_exceptions().
  absl::StatusOr<std::vector<TraceEvent>> finish();

 private:
  class Session;
  explicit TraceRecorder(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session_;  // null after finish()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TRACE_RECORDER_H_
