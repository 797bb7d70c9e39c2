#include "io/look/sample_ranges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

std::string text_of(const std::vector<RowRange>& ranges) {
  std::string text;
  for (const RowRange& range : ranges) {
    absl::StrAppend(&text, range.group, ":", range.begin, "+", range.count, " ");
  }
  return text;
}

TEST(SampleRanges, AllRowsInPieces) {
  EXPECT_EQ(text_of(all_ranges({5, 0, 4}, 4)), "0:0+4 0:4+1 2:0+4 ");
  EXPECT_EQ(text_of(all_ranges({}, 4)), "");
}

TEST(SampleRanges, SpreadsEvenlyOverGroups) {
  EXPECT_EQ(text_of(spread_ranges({100}, 4, 5)), "0:0+5 0:25+5 0:50+5 0:75+5 ");
  EXPECT_EQ(text_of(spread_ranges({10, 0, 80, 10}, 4, 5)), "0:0+5 2:15+5 2:40+5 2:65+5 ");
}

TEST(SampleRanges, ARangeEndsWithItsGroup) {
  EXPECT_EQ(text_of(spread_ranges({53, 47}, 2, 10)), "0:0+10 0:50+3 ");
}

}  // namespace
}  // namespace millrace
