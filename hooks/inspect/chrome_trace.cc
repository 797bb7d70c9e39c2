#include "hooks/inspect/chrome_trace.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/lines/line_text.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int64_t kBaseUnitNs = int64_t{30} * 24 * 3600 * 1'000'000'000;
constexpr size_t kPieceBytes = 1 << 20;  // appended at once

// Returns a duration in nanoseconds as microseconds, without rounding.
std::string microseconds(int64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

std::string metadata(int rank, absl::string_view tid, absl::string_view name,
                     absl::string_view value) {
  return absl::StrCat("{\"ph\":\"M\",\"pid\":", rank, tid, ",\"name\":\"", name,
                      "\",\"args\":{\"name\":\"", value, "\"}}");
}

std::string line(int rank, int64_t base_ns, const TraceEvent& event) {
  return absl::StrCat(
      "{\"ph\":\"X\",\"cat\":\"", event.is_annotation ? "user_annotation" : "cpu_op",
      "\",\"name\":", json_line(event.name), ",\"pid\":", rank, ",\"tid\":", event.thread,
      ",\"ts\":", microseconds(event.start_ns - base_ns),
      ",\"dur\":", microseconds(event.duration_ns),
      event.shapes.empty() ? "" : absl::StrCat(",\"args\":{\"Input Dims\":", event.shapes, "}"),
      "}");
}

// Returns a time before or at every event.
int64_t base_of(absl::Span<const TraceEvent> events) {
  const auto first = std::min_element(
      events.begin(), events.end(),
      [](const TraceEvent& a, const TraceEvent& b) { return a.start_ns < b.start_ns; });
  return first == events.end() ? 0 : first->start_ns - first->start_ns % kBaseUnitNs;
}

// Returns the threads with annotations: the trainer's thread.
std::set<int64_t> annotated_threads(absl::Span<const TraceEvent> events) {
  std::set<int64_t> threads;
  for (const TraceEvent& event : events) {
    if (event.is_annotation) threads.insert(event.thread);
  }
  return threads;
}

}  // namespace

absl::Status write_chrome_trace(const TraceOrigin& origin, absl::Span<const TraceEvent> events,
                                WritableFile& file) {
  const int64_t base_ns = base_of(events);
  // Perfetto shows the number of a process after its name.
  std::string piece = absl::StrCat("{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":", base_ns,
                                   ",\"rank\":", origin.rank, ",\"first_step\":", origin.first_step,
                                   ",\"last_step\":", origin.last_step, ",\"traceEvents\":[\n",
                                   metadata(origin.rank, "", "process_name", "rank"));
  for (const int64_t thread : annotated_threads(events)) {
    absl::StrAppend(
        &piece, ",\n",
        metadata(origin.rank, absl::StrCat(",\"tid\":", thread), "thread_name", "trainer"));
  }
  for (const TraceEvent& event : events) {
    absl::StrAppend(&piece, ",\n", line(origin.rank, base_ns, event));
    if (piece.size() < kPieceBytes) continue;
    RETURN_IF_ERROR(file.append(piece));
    piece.clear();
  }
  absl::StrAppend(&piece, "\n]}\n");
  return file.append(piece);
}

}  // namespace millrace
