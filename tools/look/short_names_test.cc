#include "tools/look/short_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

TEST(ShortNames, AreCutInTheMiddle) {
  EXPECT_THAT(short_names(Names{"user", "clicks_of_the_day", "twelve_bytes"}, 12),
              ElementsAre("user", "click~he_day", "twelve_bytes"));
  EXPECT_THAT(short_names(Names{"a\nb\tc"}, 12), ElementsAre("a b c"));
  EXPECT_THAT(short_names({}, 12), IsEmpty());
}

TEST(ShortNames, CanBeToldApart) {
  EXPECT_THAT(short_names(Names{"feature_0001_of_clicks", "feature_0002_of_clicks", "f"}, 12),
              ElementsAre("feature_0~#1", "feature_0~#2", "f"));
}

TEST(ShortNames, CharactersStayWhole) {
  const std::string name = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4";
  EXPECT_THAT(short_names(Names{name}, 12),
              ElementsAre("\xc3\xa4\xc3\xb6~\xc3\xb6\xc3\xbc\xc3\xa4"));
}

TEST(ShortNames, PathsLoseTheDirectoriesOfAll) {
  EXPECT_THAT(without_common_directories({"/data/day=1/a.csv", "/data/day=2/a.csv"}),
              ElementsAre("day=1/a.csv", "day=2/a.csv"));
  EXPECT_THAT(without_common_directories({"/data/a1.csv", "/data/a2.csv"}),
              ElementsAre("a1.csv", "a2.csv"));
  EXPECT_THAT(without_common_directories({"a.csv", "a.csv.old"}),
              ElementsAre("a.csv", "a.csv.old"));
  EXPECT_THAT(without_common_directories({"/x/a.csv", "y/a.csv"}),
              ElementsAre("/x/a.csv", "y/a.csv"));
  EXPECT_THAT(without_common_directories({}), IsEmpty());
}

}  // namespace
}  // namespace millrace
