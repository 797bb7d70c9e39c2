#include "base/memory/huge_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/environment/skip.h"

namespace millrace {
namespace {

bool all_zero(const char* memory, int64_t bytes) {
  return std::all_of(memory, memory + bytes, [](char c) { return c == 0; });
}

TEST(HugeMemoryTest, MappedMemoryIsAlignedAndZero) {
  for (const int64_t bytes : {int64_t{4096}, int64_t{64} << 10, kHugePageBytes}) {
    char* const memory = map_memory(bytes, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % bytes, 0);
    touch_memory(memory, bytes);
    EXPECT_TRUE(all_zero(memory, bytes));
    unmap_memory(memory, bytes);
  }
}

TEST(HugeMemoryTest, SizesOfPagesChangeNoContent) {
  char* const memory = map_memory(kHugePageBytes);
  use_small_pages(memory, kHugePageBytes);
  std::memset(memory, 3, kHugePageBytes);
  collapse_pages(memory, kHugePageBytes);
  EXPECT_TRUE(std::all_of(memory, memory + kHugePageBytes, [](char c) { return c == 3; }));
  unmap_memory(memory, kHugePageBytes);
}

TEST(HugeMemoryTest, ForgottenMemoryIsZeroLockedOrNot) {
  char* const memory = map_memory(kHugePageBytes);
  for (const bool locked : {false, true}) {
    std::memset(memory, 1, kHugePageBytes);
    if (locked && mlock(memory, 4096) != 0)
      GTEST_SKIP() << skip_kernel_feature("locked memory", "none allowed");
    forget_memory(memory, kHugePageBytes);
    EXPECT_TRUE(all_zero(memory, kHugePageBytes)) << locked;
  }
  munlock(memory, 4096);
  unmap_memory(memory, kHugePageBytes);
}

}  // namespace
}  // namespace millrace
