#include "framework/report/directory_check.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(DirectoryCheckTest, PathsBelowTheOutputDirectory) {
  for (const char* directory : {"metrics", "my/csv", "checkpoints2", "a.b", "..c"}) {
    EXPECT_OK(check_directory("sink", directory));
  }
}

TEST(DirectoryCheckTest, OtherPathsAreRefused) {
  for (const char* directory : {"", "/tmp", "..", "../x", "a//b", "a/./b", "a/.."}) {
    EXPECT_THAT(check_directory("[millrace.profiler]", directory),
                StatusIs(kInvalid, HasSubstr("[millrace.profiler]: directory is \"")))
        << directory;
  }
}

TEST(DirectoryCheckTest, OwnFilesAreRefused) {
  for (const char* directory : {"checkpoints", "checkpoints/x", "best", "logs", "summary.json",
                                "events.jsonl", "config.textproto", "lock"}) {
    EXPECT_THAT(check_directory("sink", directory),
                StatusIs(kInvalid, HasSubstr("Millrace's own; give another directory")))
        << directory;
  }
}

}  // namespace
}  // namespace millrace
