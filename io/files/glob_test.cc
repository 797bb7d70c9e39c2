#include "io/files/glob.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/file_system.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(GlobPatternTest, WhatIsAPattern) {
  for (const char* path : {"*.csv", "a?", "[ab]", "{1,2}.orc", "s3://bucket/*"}) {
    EXPECT_TRUE(is_glob_pattern(path)) << path;
  }
  for (const char* path : {"", "a.csv", "a,b", "a]b}", "a\\b"}) {
    EXPECT_FALSE(is_glob_pattern(path)) << path;
  }
}

TEST(GlobPatternTest, ALiteralPatternMatchesItsPathAlone) {
  const std::string folder = testing::TempDir() + "/glob_pattern";
  std::filesystem::create_directories(folder);
  for (const char* name : {"a*b", "aXb", "[ab]", "a", "{a,b}", "b", "c\\d", "cd"}) {
    std::ofstream(folder + "/" + name) << "x";
  }
  for (const char* name : {"a*b", "[ab]", "{a,b}", "c\\d"}) {
    EXPECT_THAT(FileSystem::local().glob(literal_pattern(folder + "/" + name)),
                IsOkAndHolds(testing::ElementsAre(folder + "/" + name)))
        << name;
  }
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeepGlobTest : public testing::Test {
 protected:
  DeepGlobTest() {
    std::string name = testing::TempDir() + "/deep_glob_XXXXXX";
    root_ = ::mkdtemp(name.data());
    for (const char* file : {"top.orc", "top.csv", "a/one.orc", "a/b/two.orc", "a/b/c/three.orc",
                             "d[x]/four.orc", ".hidden/five.orc", "a/.six.orc"}) {
      EXPECT_OK(files_.create_directories(directory_of(path(file))));
      EXPECT_OK(write_file_atomically(files_, path(file), "x"));
    }
    EXPECT_EQ(::symlink(path("a").c_str(), path("loop").c_str()), 0);
    EXPECT_EQ(::symlink(path("top.orc").c_str(), path("link.orc").c_str()), 0);
  }

  std::string path(const std::string& name) const { return join_path(root_, name); }

  // Matches below the root.
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) {
    absl::StatusOr<std::vector<std::string>> found = deep_glob(files_, path(pattern));
    if (!found.ok()) return found;
    for (std::string& name : *found) name = name.substr(root_.size() + 1);
    return found;
  }

  FileSystem& files_ = FileSystem::local();
  std::string root_;
};

TEST_F(DeepGlobTest, MatchesAnyNumberOfDirectories) {
  EXPECT_THAT(glob("**/*.orc"),
              IsOkAndHolds(ElementsAre("a/b/c/three.orc", "a/b/two.orc", "a/one.orc",
                                       "d[x]/four.orc", "link.orc", "top.orc")));
  EXPECT_THAT(glob("a/**/three.orc"), IsOkAndHolds(ElementsAre("a/b/c/three.orc")));
  EXPECT_THAT(glob("**/b/*.orc"), IsOkAndHolds(ElementsAre("a/b/two.orc")));
  EXPECT_THAT(glob("**/b/**/*.orc"), IsOkAndHolds(ElementsAre("a/b/c/three.orc", "a/b/two.orc")));
  EXPECT_THAT(glob("{a,d}*/**/*.orc"), IsOkAndHolds(ElementsAre("a/b/c/three.orc", "a/b/two.orc",
                                                                "a/one.orc", "d[x]/four.orc")));
}

TEST_F(DeepGlobTest, AsTheLastPartMatchesEveryFileBelow) {
  EXPECT_THAT(glob("a/**"),
              IsOkAndHolds(ElementsAre("a/b/c/three.orc", "a/b/two.orc", "a/one.orc")));
}

TEST_F(DeepGlobTest, WithoutItPatternsAreThoseOfTheShell) {
  EXPECT_THAT(glob("a/*.orc"), IsOkAndHolds(ElementsAre("a/one.orc")));
  EXPECT_THAT(glob("top.*"), IsOkAndHolds(ElementsAre("top.csv", "top.orc")));
}

TEST_F(DeepGlobTest, MatchesNothingWhereNothingIs) {
  EXPECT_THAT(glob("none/**/*.orc"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(glob("a/**/*.parquet"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(glob("top.orc/**"), IsOkAndHolds(IsEmpty()));
}

// Whichever call fails, no file is passed over.
TEST_F(DeepGlobTest, ReportsAFileSystemThatDoesNotAnswer) {
  for (const char* pattern : {"{a,d}*/**/*.orc", "**"}) {
    for (int64_t call = 0;; ++call) {
      FaultFileSystem files(files_);
      files.fail(call, 1, absl::UnavailableError("no answer"));
      const absl::StatusOr<std::vector<std::string>> found = deep_glob(files, path(pattern));
      if (files.calls() <= call) break;
      EXPECT_THAT(found, StatusIs(absl::StatusCode::kUnavailable)) << pattern << ", call " << call;
    }
  }
}

TEST_F(DeepGlobTest, RefusesPartsThatHoldMore) {
  for (const char* pattern : {"part-**.orc", "a/**.orc", "{**,a}/x.orc", "a/***/x"}) {
    EXPECT_THAT(glob(pattern), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("must be a whole part of the path")));
  }
}

}  // namespace
}  // namespace millrace
