#include "base/utf8/characters.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(CharactersTest, AreCounted) {
  EXPECT_EQ(count_characters(""), 0);
  EXPECT_EQ(count_characters("size"), 4);
  EXPECT_EQ(count_characters("größe"), 5);
  EXPECT_EQ(count_characters("日本 🙂"), 4);
}

TEST(CharactersTest, TheFirstOnesAreWhole) {
  EXPECT_EQ(first_characters("größe", 0), "");
  EXPECT_EQ(first_characters("größe", 2), "gr");
  EXPECT_EQ(first_characters("größe", 3), "grö");
  EXPECT_EQ(first_characters("größe", 5), "größe");
  EXPECT_EQ(first_characters("größe", 9), "größe");
  EXPECT_EQ(first_characters("🙂🙂", 1), "🙂");
}

TEST(CharactersTest, BytesThatAreNoneAreFound) {
  for (const absl::string_view text :
       {"", "size", "größe", "日本 🙂", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(absl::string_view("\0", 1)));
  for (const absl::string_view text :
       {"\x80", "gr\xf6\xdf", "\xc3", "\xe2\x82", "\xf0\x9f\x99", "\xc3\x28", "\xff",
        "\xf8\x88\x80\x80\x80",
        // Overlong forms, surrogates, and a code point above U+10FFFF.
        "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace millrace
