#include "base/path/rereadable.h"

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

}  // namespace
}  // namespace millrace
