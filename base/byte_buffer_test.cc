#include "base/byte_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

TEST(ByteBufferTest, KeepsWhatWasAppended) {
  ByteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string bytes(i % 7, static_cast<char>('a' + i % 26));
    buffer.append(bytes);
    expected += bytes;
    ASSERT_EQ(buffer.view(), expected);
  }
}

TEST(ByteBufferTest, KeepsItsMemory) {
  ByteBuffer buffer;
  buffer.append("abcdef");
  buffer.resize(3);
  EXPECT_EQ(buffer.view(), "abc");
  const char* const memory = buffer.data();
  buffer.clear();
  EXPECT_EQ(buffer.size(), 0);
  std::string("wxyz").copy(buffer.extend(4), 4);
  EXPECT_EQ(buffer.view(), "wxyz");
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_GE(buffer.capacity(), 6);
}

}  // namespace
}  // namespace millrace
