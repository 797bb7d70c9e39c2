#include "base/path/shell_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(ShellPathTest, WhatAShellReplaces) {
  for (const auto& [path, part] :
       std::vector<std::pair<std::string, std::string>>{{"~", "~"},
                                                        {"~/out", "~"},
                                                        {"~me/out", "~me"},
                                                        {"$HOME/o", "$HOME"},
                                                        {"out/run-$SLURM_JOB_ID", "$SLURM_JOB_ID"},
                                                        {"/data/${USER}/o", "${USER}"}}) {
    EXPECT_THAT(check_shell_path(path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         testing::AllOf(HasSubstr("\"" + path + "\": "),
                                        HasSubstr("a shell replaces " + part + ","),
                                        HasSubstr("write the whole path"))));
  }
}

TEST(ShellPathTest, AdviceForThatNameIsTaken) {
  for (const auto& [path, advised] : std::vector<std::pair<std::string, std::string>>{
           {"~/out", "./~/out"}, {"a/$HOME", "./a/$HOME"}, {"/mnt/a$b/out", "/mnt/./a$b/out"}}) {
    EXPECT_THAT(check_shell_path(path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("or \"" + advised + "\" for that name")));
    EXPECT_OK(check_shell_path(advised));
  }
}

TEST(ShellPathTest, WhatIsAPath) {
  for (const char* path : {"", "out", "a~b", "out~", "/x/~/y", "price$", "a$/b", "a$-b", "./~/out",
                           "./$HOME", "s3://bucket/a$"}) {
    EXPECT_OK(check_shell_path(path)) << path;
  }
}

}  // namespace
}  // namespace millrace
