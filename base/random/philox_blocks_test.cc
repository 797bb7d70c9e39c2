#include "base/random/philox_blocks.h"

#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(PhiloxBlocksTest, AreThoseOfSingleCounters) {
  const uint32_t key[2] = {0x12345678, 0x9abcdef0}, counter[3] = {7, 0xfedcba98, 3};
  constexpr uint32_t kFirst = 0xfffffffa;  // it wraps around
  uint32_t words[4][16];
  philox_blocks<16>(key, kFirst, counter, words);
  for (uint32_t b = 0; b < 16; ++b) {
    const PhiloxBlock block =
        philox({key[0], key[1]}, {kFirst + b, counter[0], counter[1], counter[2]});
    for (int w = 0; w < 4; ++w) EXPECT_EQ(words[w][b], block[w]) << b;
  }
}

}  // namespace
}  // namespace millrace
