#include "io/window/window_source_registry.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status check(const char* text) {
  DataConfig data;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &data)) << text;
  return check_windows("here", data);
}

class GoodTest : public testing::TestWithParam<const char*> {};
TEST_P(GoodTest, IsTaken) { EXPECT_OK(check(GetParam())); }
INSTANTIATE_TEST_SUITE_P(
    Windows, GoodTest,
    testing::Values("path: 'a' windows {}", "path: 'a' windows { list {} files: 1024 repeat: 3 }",
                    "windows { directory { path: 'in' } rows: 5 idle_seconds: 0.5 }",
                    "windows { directory { path: 'in' done_suffix: '.done' late: TAKE } }",
                    "windows { time { path: 'd=%Y%m%d/h=%H' start: '2026-01-01T00:00:00Z' } }",
                    "windows { time { path: 'd=%Y%m%d' start: '2026-01-01T00:00:00Z' "
                    "step_seconds: 86400 end: '2026-02-01T00:00:00Z' } files: 1 rows: 0 }"));

class BadTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadTest, IsAnErrorThatSaysWhat) {
  EXPECT_THAT(check(GetParam().first),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("here"), HasSubstr(GetParam().second))));
}
using Case = std::pair<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(
    Windows, BadTest,
    testing::Values(
        Case{"windows { files: 0 }", "files is 0; must be 1 to 1024"},
        Case{"windows { idle_seconds: -1 }", "idle_seconds is -1"},
        Case{"windows { directory {} }", "here.directory: path is missing"},
        Case{"windows { directory { path: 'a' pattern: '' } }", "pattern is empty"},
        Case{"windows { directory { path: 'a' end_marker: 'b/c' } }", "a name without /"},
        Case{"path: 'b' windows { directory { path: 'a' } }", "the data has a path"},
        Case{"windows { time { path: 'h=%H' start: 'monday' } }",
             "here.time: start is \"monday\"; must be written as"},
        Case{"windows { time { path: 'h=%H' } }", "start is \"\""},
        Case{"windows { time { start: '2026-01-01T00:00:00Z' } }", "path is missing"},
        Case{"windows { time { path: 'd=%d' start: '2026-01-01T00:00:00Z' } }",
             "path gives d=01 for the first two steps"},
        Case{"windows { time { path: 'h=%H' start: '2026-01-01T00:00:00Z' step_seconds: 0 } }",
             "step_seconds is 0"},
        Case{"windows { time { path: 'h=%H' start: '2026-01-01T00:00:00Z' "
             "end: '2026-01-01T00:00:00Z' } }",
             "not after start"},
        Case{"windows { rows: 5 time { path: 'h=%H' start: '2026-01-01T00:00:00Z' } }",
             "each step of time is a window"}));

}  // namespace
}  // namespace millrace
