// Traces in the format of Chrome and Perfetto.
#ifndef MILLRACE_HOOKS_INSPECT_CHROME_TRACE_H_
#define MILLRACE_HOOKS_INSPECT_CHROME_TRACE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "hooks/inspect/trace_event.h"

namespace millrace {

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
