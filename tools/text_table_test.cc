#include "tools/text_table.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(TextTableTest, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"name"}, {"rows", TextTable::kRight}, {"what"}});
  EXPECT_TRUE(table.empty());
  table.add({"items", "12", "x"});
  table.add({"u", "123456", ""});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.text(),
            "name     rows  what\n"
            "items      12  x\n"
            "u      123456\n");
}

TEST(TextTableTest, CountsCharactersNotBytes) {
  TextTable table({{"a"}, {"b"}});
  table.add({"1 → 2", "x"});
  table.add({"12345", "y"});
  EXPECT_EQ(table.text(), "a      b\n1 → 2  x\n12345  y\n");
}

TEST(TextTableTest, TitlesAlone) {
  EXPECT_EQ(TextTable({{"a"}, {"b", TextTable::kRight}}).text(), "a  b\n");
}

TEST(BytesTextTest, AllUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(int64_t{3800} << 20), "3.7 GiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8192.0 PiB");
}

}  // namespace
}  // namespace millrace
