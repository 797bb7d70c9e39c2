// An event of a trace.
#ifndef MILLRACE_HOOKS_INSPECT_TRACE_EVENT_H_
#define MILLRACE_HOOKS_INSPECT_TRACE_EVENT_H_

#include <cstdint>
#include <string>

namespace millrace {

struct TraceEvent {
  std::string name;
  bool is_annotation = false;  // true for an event of the trainer, false for LibTorch
  int64_t start_ns = 0;        // since the epoch of Unix
  int64_t duration_ns = 0;
  int64_t thread = 0;  // thread number of the operating system
  // The shapes of the inputs of an operator as a JSON array of arrays. "": not recorded.
  std::string shapes = "";
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_INSPECT_TRACE_EVENT_H_
