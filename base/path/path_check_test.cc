#include "base/path/path_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Rereadable, FilesAndDirectoriesAre) {
  FileSystem& files = FileSystem::local();
  const std::string path = testing::TempDir() + "/rereadable_file";
  ASSERT_OK(write_file_atomically(files, path, "a"));
  EXPECT_OK(check_rereadable(files, path));
  EXPECT_OK(check_rereadable(files, testing::TempDir()));
  EXPECT_THAT(check_rereadable(files, path + "-none"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(Rereadable, PipesAndDevicesAreNot) {
  const std::string pipe = testing::TempDir() + "/rereadable_pipe";
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    EXPECT_THAT(check_rereadable(FileSystem::local(), path),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("cannot read " + path + ": it is a pipe or a device"),
                               HasSubstr("write it to a file"))));
  }
}

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
