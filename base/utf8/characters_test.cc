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

}  // namespace
}  // namespace millrace
