#include "io/format/text_lines.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextLinesTest : public testing::Test {
 protected:
  std::unique_ptr<ReadableFile> file(const std::string& text) {
    EXPECT_OK(write_file_atomically(files_, "/text", text));
    auto opened = files_.open("/text");
    EXPECT_OK(opened);
    return *std::move(opened);
  }
  LineIndex index(const std::string& text, bool with_header) {
    const auto index = index_lines(*file(text), with_header);
    EXPECT_OK(index);
    return *index;
  }
  MemoryFileSystem files_;
};

TEST_F(TextLinesTest, RowsAreLinesThatAreNotBlank) {
  const LineIndex lines = index("\r\n\na\r\nb\n\r\r\nc", false);
  EXPECT_EQ(lines.header.rows, 0);
  EXPECT_THAT(lines.groups,
              ElementsAre(LineGroup{.begin = 0, .end = 12, .rows = 3, .first_line = 1}));
  EXPECT_TRUE(index("", false).groups.empty());
  EXPECT_TRUE(index("\n\r\n", false).groups.empty());
}

TEST_F(TextLinesTest, TheHeaderIsALineOfItsOwn) {
  const LineIndex lines = index("\nnames\nx\ny\n", true);
  EXPECT_EQ(lines.header, (LineGroup{.begin = 0, .end = 7, .rows = 1, .first_line = 1}));
  EXPECT_THAT(lines.groups,
              ElementsAre(LineGroup{.begin = 7, .end = 11, .rows = 2, .first_line = 3}));
  EXPECT_EQ(index("names", true).header.rows, 1);
  EXPECT_EQ(index("\n\n", true).header.rows, 0);
}

TEST_F(TextLinesTest, GroupsEndAfterRowsOrBytes) {
  std::string text;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, i % 10, "\n");
  const LineIndex rows = index(text, false);
  EXPECT_THAT(rows.groups, ElementsAre(LineGroup{.begin = 0, .end = 32768, .rows = 16384},
                                       LineGroup{.begin = 32768,
                                                 .end = 40000,
                                                 .first_row = 16384,
                                                 .rows = 3616,
                                                 .first_line = 16385}));
  const LineIndex bytes = index(std::string(9 << 20, 'x') + "\ny\n", false);
  ASSERT_EQ(bytes.groups.size(), 2u);
  EXPECT_EQ(bytes.groups[1].begin, (9 << 20) + 1);
  EXPECT_EQ(bytes.groups[1].first_line, 2);
}

TEST_F(TextLinesTest, LinesBeyondTheLimitAreRefusedByNumber) {
  const std::string longest(kMaxLineBytes - 1, 'x');
  EXPECT_EQ(index("a\n" + longest + "\nb\n", false).groups.size(), 2u);
  EXPECT_THAT(index_lines(*file("a\n" + longest + "yy\n"), false),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 2: more than 16777216 bytes")));
}

TEST_F(TextLinesTest, BufferHoldsTheGroupAndALineFeed) {
  const auto text = file("ab\ncd");
  LineBuffer buffer;
  ASSERT_OK(buffer.read(*text, {.begin = 3, .end = 5}));
  EXPECT_EQ(std::string(buffer.data(), buffer.size()), "cd\n");
  ASSERT_OK(buffer.read(*text, {.begin = 0, .end = 3}));
  EXPECT_EQ(std::string(buffer.data(), buffer.size()), "ab\n");
  EXPECT_THAT(buffer.read(*text, {.begin = 3, .end = 9}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("became shorter")));
}

}  // namespace
}  // namespace millrace
