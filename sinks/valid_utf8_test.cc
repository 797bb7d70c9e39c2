#include "sinks/valid_utf8.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ValidUtf8Test, ReplacesOtherBytes) {
  EXPECT_EQ(valid_utf8("größe \"a\"\n"), "größe \"a\"\n");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(valid_utf8(""), "");
}

}  // namespace
}  // namespace millrace
