// What events.jsonl says, for people.
#ifndef MILLRACE_TOOLS_EVENT_REPORT_H_
#define MILLRACE_TOOLS_EVENT_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"

namespace millrace {

// One line of events.jsonl; docs/hooks.md says what the fields mean.
struct EventLine {
  std::string time;
  int64_t step = 0;
  std::string kind;
  std::string what;
  std::string hook;
  int64_t rank = 0;
  bool common = true;
  std::string detail;
  int64_t world_size = 0;  // 0: not said
};

struct EventHistory {
  std::vector<EventLine> events;
  std::vector<int64_t> torn_lines;  // numbers of lines that are unfinished
};

// Reads events.jsonl as a whole. The last line may be torn, and one before the beginning of another
// run. Errors: NotFound saying what to do; those of reading; DataLoss naming the line that is none.
absl::StatusOr<EventHistory> read_events(FileSystem& files, const std::string& path);

// A paragraph for each run: when it began and with how many ranks, who asked for what and what was
// done, refused steps, errors, and how it ended. A request and its serving are one line.
std::string event_report(const EventHistory& history);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_EVENT_REPORT_H_
