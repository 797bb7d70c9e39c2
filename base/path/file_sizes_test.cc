#include "base/path/file_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::IsEmpty;

TEST(FileSizesTest, ComeBackFromTheirText) {
  const FileSizes sizes = {{"a.parquet", 0}, {"b", 1234567890123}};
  EXPECT_EQ(file_sizes_text(sizes), "a.parquet 0\nb 1234567890123\n");
  EXPECT_EQ(parse_file_sizes(file_sizes_text(sizes)), sizes);
}

TEST(FileSizesTest, LinesWithoutASizeAreLeftOut) {
  EXPECT_EQ(parse_file_sizes("a\nb many\n\nc 3"), (FileSizes{{"c", 3}}));
  EXPECT_THAT(parse_file_sizes(""), IsEmpty());
}

}  // namespace
}  // namespace millrace
