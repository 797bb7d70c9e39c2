#include "io/text_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(TextStartTest, IsBehindAByteOrderMark) {
  ASSERT_OK_AND_ASSIGN(const TextStart plain, find_text_start("a,b\n", true));
  EXPECT_EQ(plain.begin, 0);
  EXPECT_EQ(plain.line, 1);
  EXPECT_EQ(plain.separator, '\0');
  ASSERT_OK_AND_ASSIGN(const TextStart marked, find_text_start("\xef\xbb\xbf"
                                                               "a,b\n",
                                                               true));
  EXPECT_EQ(marked.begin, 3);
  ASSERT_OK_AND_ASSIGN(const TextStart empty, find_text_start("", true));
  EXPECT_EQ(empty.begin, 0);
}

TEST(TextStartTest, IsBehindALineThatNamesTheSeparator) {
  for (const std::string line : {"sep=;\n", "SEP=;\r\n", "\"sep=;\"\r\n"}) {
    ASSERT_OK_AND_ASSIGN(const TextStart start, find_text_start(line + "a;b\n", true));
    EXPECT_EQ(start.begin, static_cast<int64_t>(line.size())) << line;
    EXPECT_EQ(start.line, 2);
    EXPECT_EQ(start.separator, ';');
    ASSERT_OK_AND_ASSIGN(const TextStart unread, find_text_start(line + "a;b\n", false));
    EXPECT_EQ(unread.begin, 0);
  }
  ASSERT_OK_AND_ASSIGN(const TextStart both, find_text_start("\xef\xbb\xbfsep=\t\na\tb\n", true));
  EXPECT_EQ(both.begin, 9);
  EXPECT_EQ(both.separator, '\t');
  for (const char* text : {"sep=\n", "sep=;;\n", "sep;\n", "a,sep=;\n", "sep=;"}) {
    ASSERT_OK_AND_ASSIGN(const TextStart start, find_text_start(text, true));
    EXPECT_EQ(start.begin, 0) << text;
  }
}

TEST(TextStartTest, RefusesCompressedFiles) {
  EXPECT_THAT(find_text_start("\x1f\x8b\x08\x01", true),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed with gzip; unpack it")));
}

TEST(TextStartTest, RefusesUtf16) {
  for (const std::string text : {std::string("\xff\xfe"
                                             "a\0\n\0",
                                             6),
                                 std::string("\xfe\xff\0a\0\n", 6)}) {
    EXPECT_THAT(find_text_start(text, true),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("UTF-16")));
  }
}

TEST(TextStartTest, RefusesLinesThatEndWithCarriageReturnsAlone) {
  for (const char* text : {"a,b\r1,2\r", "\ra,b\r1,2", "\"a\",b\r\"1\",2\r"}) {
    EXPECT_THAT(find_text_start(text, true),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("line 1"), HasSubstr("tr '\\r' '\\n'"))))
        << text;
  }
  for (const char* text : {"a,b\r\n1,2\r\n", "a,b\r", "a,\"b\rc\",d", "\r\r", "a\rb\n"}) {
    EXPECT_OK(find_text_start(text, true)) << text;
  }
}

}  // namespace
}  // namespace millrace
