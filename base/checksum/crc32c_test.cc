#include "base/checksum/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

// The examples of RFC 3720, B.4, and the check value of the catalogue of CRC algorithms.
TEST(Crc32cTest, StandardVectors) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  for (int i = 31; i >= 0; --i) falling.push_back(static_cast<char>(i));
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c(falling), 0x113fdb5cu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32cTest, MaskTurnsAndAdds) {
  EXPECT_EQ(masked_crc32c(""), 0xa282ead8u);
  const uint32_t crc = 0xe3069283u;
  EXPECT_EQ(masked_crc32c("123456789"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

}  // namespace
}  // namespace millrace
