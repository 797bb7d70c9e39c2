#include "io/compression.h"

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
