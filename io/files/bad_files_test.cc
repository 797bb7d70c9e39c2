#include "io/files/bad_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BadFilesTest, CountsEachFileOnce) {
  BadFiles files;
  EXPECT_EQ(files.count(), 0);
  EXPECT_THAT(files.paths(5), IsEmpty());
  EXPECT_EQ(files.to_string(5), "");
  files.add("b.orc");
  EXPECT_EQ(files.to_string(5), "1 file left out as bad data: b.orc");
  for (const char* path : {"c.orc", "a.orc", "b.orc"}) files.add(path);
  EXPECT_EQ(files.count(), 3);
  EXPECT_THAT(files.paths(2), ElementsAre("a.orc", "b.orc"));
  EXPECT_EQ(files.to_string(2), "3 files left out as bad data: a.orc, b.orc, ...");
  EXPECT_EQ(files.to_string(3), "3 files left out as bad data: a.orc, b.orc, c.orc");
}

}  // namespace
}  // namespace millrace
