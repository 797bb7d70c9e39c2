#include "plugin/process_libraries.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace millrace {
namespace {

TEST(ProcessLibrariesTest, NamesWhatIsLoaded) {
  const std::set<std::string> names = loaded_libraries();
  EXPECT_EQ(names.count("libc.so.6"), 1);
  EXPECT_EQ(names.count("libstdc++.so.6"), 1);
  EXPECT_EQ(names.count("libnothing.so.1"), 0);
}

TEST(ProcessLibrariesTest, FindsSymbols) {
  EXPECT_TRUE(process_has_symbol("memcpy"));
  EXPECT_FALSE(process_has_symbol("millrace_has_no_such_symbol"));
}

}  // namespace
}  // namespace millrace
