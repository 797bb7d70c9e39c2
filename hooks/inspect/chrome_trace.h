// Events of a trace, and their file in the format of Chrome and Perfetto.
#ifndef MILLRACE_HOOKS_INSPECT_CHROME_TRACE_H_
#define MILLRACE_HOOKS_INSPECT_CHROME_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/file_system.h"

namespace millrace {

// An event of a trace.
struct TraceEvent {
  std::string name;
  bool is_annotation = false;  // true for an event of the trainer, false for LibTorch
  int64_t start_ns = 0;        // since the epoch of Unix
  int64_t duration_ns = 0;
  int64_t thread = 0;  // thread number of the operating system
  // The shapes of the inputs of an operator as a JSON array of arrays. "": not recorded.
  std::string shapes = "";
};

// The origin of a trace.
struct TraceOrigin {
  int rank = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
};

// Appends a trace as a JSON object. The process of the trace is the rank. Times are in microseconds
// since `baseTimeNanoseconds`, a multiple of 30 days, so that traces of several ranks of a host can
// be shown together. REQUIRES: events are in the order of TraceRecorder::finish().
// Errors: errors of the file.
absl::Status write_chrome_trace(const TraceOrigin& origin, absl::Span<const TraceEvent> events,
                                WritableFile& file);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_CHROME_TRACE_H_
