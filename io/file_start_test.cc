#include "io/file_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
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

TEST(CompressionTest, IsFoundByTheFirstBytes) {
  const std::vector<std::pair<std::string, std::string>> heads = {
      {"gzip", "\x1f\x8b\x08\x08rest"},
      {"zstd", "\x28\xb5\x2f\xfdrest"},
      {"zip", "PK\x03\x04rest"},
      {"bzip2", "BZh91AY&SYrest"},
      {"xz", std::string("\xfd\x37zXZ\0rest", 10)},
  };
  for (const auto& [name, head] : heads) {
    EXPECT_EQ(compression_of(head), name);
    EXPECT_EQ(compression_of(head.substr(0, 2)), "") << name;
    EXPECT_THAT(check_not_compressed(head),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("compressed with " + name), HasSubstr("; unpack it"))));
  }
}

TEST(CompressionTest, TextAndColumnarFilesAreNotCompressed) {
  for (const char* head : {"", "a,b\n1,2\n", "PAR1", "ORC", "BZh9,price\n", "PK,name\n"}) {
    EXPECT_EQ(compression_of(head), "") << head;
    EXPECT_OK(check_not_compressed(head));
  }
}

}  // namespace
}  // namespace millrace
