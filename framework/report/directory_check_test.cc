#include "framework/report/directory_check.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(DirectoryCheckTest, PathsBelowTheOutputDirectory) {
  for (const char* directory : {"metrics", "my/csv", "checkpoints2", "a.b", "..c", "train"}) {
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
                                "events.jsonl", "config.textproto", "lock", "metrics/train.jsonl",
                                "metrics/eval.jsonl/x", "my/csv/train.csv"}) {
    EXPECT_THAT(check_directory("sink", directory),
                StatusIs(kInvalid, HasSubstr("Millrace's own; give another directory")))
        << directory;
  }
}

TEST(DirectoryCheckTest, FilesBelowTheOutputDirectory) {
  for (const char* file : {"mllog.txt", "log", "metrics/mllog.txt", "my/logs/a.txt", "..c"}) {
    EXPECT_OK(check_file("hook", file));
  }
  for (const char* file : {"", "/tmp/x", "..", "../x", "a//b", "a/./b", "a/.."}) {
    EXPECT_THAT(check_file("[millrace.mllog]", file),
                StatusIs(kInvalid, HasSubstr("[millrace.mllog]: file is \"")))
        << file;
  }
}

TEST(DirectoryCheckTest, DirectoriesOfARunAreNoFiles) {
  EXPECT_THAT(check_file("hook", "metrics"),
              StatusIs(kInvalid, HasSubstr("file is \"metrics\", a directory of Millrace")));
  EXPECT_THAT(check_file("hook", "tensorboard"), StatusIs(kInvalid));
}

TEST(DirectoryCheckTest, OwnFilesAreNoFilesOfHooks) {
  for (const char* file :
       {"events.jsonl", "windows.jsonl", "summary.json", "lock", "checkpoints/x", "logs/rank-0.log",
        "mllog.txt/x", "metrics/train.jsonl", "metrics/eval.jsonl", "my/csv/train.csv"}) {
    EXPECT_THAT(check_file("hook", file),
                StatusIs(kInvalid, HasSubstr("Millrace's own; give another file")))
        << file;
  }
}

}  // namespace
}  // namespace millrace
