#include "base/scoped_value.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(ScopedValueTest, GivesBackWhatWasThere) {
  std::string word = "before";
  {
    const ScopedValue<std::string> outer(word, "outer");
    EXPECT_EQ(word, "outer");
    {
      const ScopedValue<std::string> inner(word, "inner");
      EXPECT_EQ(word, "inner");
    }
    EXPECT_EQ(word, "outer");
  }
  EXPECT_EQ(word, "before");
}

TEST(ScopedValueTest, AlsoAfterAnException) {
  bool flag = false;
  try {
    const ScopedValue<bool> scope(flag, true);
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(flag);
}

}  // namespace
}  // namespace millrace
