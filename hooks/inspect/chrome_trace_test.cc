#include "hooks/inspect/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using nlohmann::json;

constexpr int64_t kBase = int64_t{700} * 30 * 24 * 3600 * 1'000'000'000;

json written(const TraceOrigin& origin, const std::vector<TraceEvent>& events) {
  MemoryFileSystem files;
  EXPECT_OK(write_file_atomically(files, "trace.json", [&](WritableFile& file) {
    return write_chrome_trace(origin, events, file);
  }));
  const auto text = read_file(files, "trace.json");
  EXPECT_OK(text.status());
  return json::parse(*text);
}

TEST(ChromeTraceTest, Events) {
  const json trace =
      written({.rank = 2, .first_step = 4, .last_step = 6}, {{.name = "step 4",
                                                              .is_annotation = true,
                                                              .start_ns = kBase + 1'002'003,
                                                              .duration_ns = 5'000,
                                                              .thread = 77},
                                                             {.name = "aten::mm",
                                                              .start_ns = kBase + 1'002'100,
                                                              .duration_ns = 99,
                                                              .thread = 77,
                                                              .shapes = "[[2,3],[]]"}});
  EXPECT_EQ(trace["baseTimeNanoseconds"], kBase);
  EXPECT_EQ(trace["rank"], 2);
  EXPECT_EQ(trace["first_step"], 4);
  EXPECT_EQ(trace["last_step"], 6);
  EXPECT_EQ(trace["traceEvents"],
            (json{{{"ph", "M"}, {"pid", 2}, {"name", "process_name"}, {"args", {{"name", "rank"}}}},
                  {{"ph", "M"},
                   {"pid", 2},
                   {"tid", 77},
                   {"name", "thread_name"},
                   {"args", {{"name", "trainer"}}}},
                  {{"ph", "X"},
                   {"cat", "user_annotation"},
                   {"name", "step 4"},
                   {"pid", 2},
                   {"tid", 77},
                   {"ts", 1002.003},
                   {"dur", 5.0}},
                  {{"ph", "X"},
                   {"cat", "cpu_op"},
                   {"name", "aten::mm"},
                   {"pid", 2},
                   {"tid", 77},
                   {"ts", 1002.1},
                   {"dur", 0.099},
                   {"args", {{"Input Dims", {{2, 3}, json::array()}}}}}}));
}

TEST(ChromeTraceTest, NamesAreQuoted) {
  const json trace = written({}, {{.name = "evaluate \"a\\b\"\n\xff", .start_ns = 1}});
  EXPECT_EQ(trace["traceEvents"][1]["name"], "evaluate \"a\\b\"\n\xef\xbf\xbd");
}

TEST(ChromeTraceTest, WithoutEvents) { EXPECT_EQ(written({}, {})["traceEvents"].size(), 1u); }

TEST(ChromeTraceTest, ManyEventsAreAppendedInPieces) {
  const std::vector<TraceEvent> events(30000, {.name = "aten::add", .start_ns = kBase});
  EXPECT_EQ(written({}, events)["traceEvents"].size(), 30001u);
}

TEST(ChromeTraceTest, AFullDisk) {
  MemoryFileSystem files;
  files.set_capacity(100);
  ASSERT_OK_AND_ASSIGN(const auto file, files.create("trace.json"));
  EXPECT_THAT(write_chrome_trace({}, {}, *file), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace
