#include "tools/launch/line_prefixer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace millrace {
namespace {

TEST(LinePrefixerTest, LinesThatArriveInPieces) {
  LinePrefixer lines("[1] ");
  EXPECT_EQ(lines.add("one\ntw"), "[1] one\n");
  EXPECT_EQ(lines.add(""), "");
  EXPECT_EQ(lines.add("o"), "");
  EXPECT_EQ(lines.add("\n\nthree\n"), "[1] two\n[1] \n[1] three\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LinePrefixerTest, TheEndOfTheStreamEndsALine) {
  LinePrefixer lines("> ");
  EXPECT_EQ(lines.add("no newline"), "");
  EXPECT_EQ(lines.finish(), "> no newline\n");
  EXPECT_EQ(lines.finish(), "");
}

// The output does not depend on the cuts between bytes.
TEST(LinePrefixerTest, AnyCutGivesTheSame) {
  using std::string_literals::operator""s;
  const std::string text = "a\n\nbc\r\n\tdef\0g\nlast"s;
  const std::string wanted = "#a\n#\n#bc\r\n#\tdef\0g\n#last\n"s;
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); ++second) {
      LinePrefixer lines("#");
      std::string got = lines.add(text.substr(0, first));
      got += lines.add(text.substr(first, second - first));
      got += lines.add(text.substr(second));
      got += lines.finish();
      EXPECT_EQ(got, wanted) << first << ", " << second;
    }
  }
}

TEST(LinePrefixerTest, ALongLineStaysWhole) {
  LinePrefixer lines("[0] ");
  const std::string piece(65536, 'x');
  std::string got;
  for (int i = 0; i < 32; ++i) got += lines.add(piece);
  EXPECT_EQ(got, "");
  got = lines.add("\n");
  EXPECT_EQ(got.size(), 4 + 32 * piece.size() + 1);
  EXPECT_EQ(got.substr(0, 6), "[0] xx");
  EXPECT_EQ(lines.last_line(), std::string(4096, 'x'));
}

TEST(LinePrefixerTest, AnEndlessLineIsCut) {
  LinePrefixer lines("[0] ");
  const std::string piece(LinePrefixer::kMaxLineBytes - 1, 'x');
  EXPECT_EQ(lines.add(piece), "");
  std::string got = lines.add("yyy");
  EXPECT_EQ(got.size(), 4 + LinePrefixer::kMaxLineBytes + 1);
  EXPECT_EQ(got.substr(got.size() - 3), "xy\n");
  EXPECT_EQ(lines.finish(), "[0] yy\n");

  got = lines.add(std::string(2 * LinePrefixer::kMaxLineBytes + 5, 'z'));
  got += lines.finish();
  EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), 3);
  EXPECT_EQ(std::count(got.begin(), got.end(), 'z'), 2 * LinePrefixer::kMaxLineBytes + 5);
}

TEST(LinePrefixerTest, LastLine) {
  LinePrefixer lines("> ");
  EXPECT_EQ(lines.last_line(), "");
  lines.add("one\ntwo\n \n\nth");
  EXPECT_EQ(lines.last_line(), "two");
  lines.finish();
  EXPECT_EQ(lines.last_line(), "th");
}

}  // namespace
}  // namespace millrace
