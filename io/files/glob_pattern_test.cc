#include "io/files/glob_pattern.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace millrace
