#include "base/random/random_hex.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

TEST(RandomHexTest, DigitsThatDoNotRepeat) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string text = random_hex(32);
    EXPECT_EQ(text.size(), 32);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), text.npos) << text;
    EXPECT_TRUE(seen.insert(text).second) << text;
  }
  EXPECT_EQ(random_hex(16).size(), 16);
}

}  // namespace
}  // namespace millrace
