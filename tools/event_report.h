// The content of events.jsonl, for people.
#ifndef MILLRACE_TOOLS_EVENT_REPORT_H_
#define MILLRACE_TOOLS_EVENT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

// A line of events.jsonl; docs/hooks.md describes the fields.
struct EventLine {
  std::string time;
  int64_t step = 0;
  std::string kind;
  std::string what;
  std::string hook;
  int64_t rank = 0;
  bool common = true;
  std::string detail;
  int64_t world_size = 0;  // 0: not stated
};

struct EventHistory {
  std::vector<EventLine> events;
  std::vector<int64_t> torn_lines;  // numbers of incomplete lines
};

// Reads events.jsonl completely. The last line may be torn, as may a line before the beginning of
// another run. Errors: NotFound with a remedy; errors of reading; DataLoss with the number of an
// invalid line.
absl::StatusOr<EventHistory> read_event_history(FileSystem& files, const std::string& path);

// Returns a paragraph per run: its beginning with the number of ranks, requests with requesters and
// results, refused steps, errors, and its end. A request and its serving are one line.
std::string event_report(const EventHistory& history);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_EVENT_REPORT_H_
