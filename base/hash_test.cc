#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/philox.h"

namespace millrace {
namespace {

// The first outputs of SplitMix64 from seed 0, published with the generator: the finalizer of
// multiples of the golden ratio.
TEST(PlacementHashTest, EqualsTheFinalizerOfSplitMix64) {
  const uint64_t golden = 0x9e3779b97f4a7c15ULL;
  EXPECT_EQ(placement_hash(static_cast<int64_t>(golden)), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(2 * golden)), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(3 * golden)), 0x06c45d188009454fULL);
  EXPECT_EQ(placement_hash(static_cast<int64_t>(4 * golden)), 0xf88bb8a8724c81ecULL);
}

TEST(PlacementHashTest, ZeroStaysZero) { EXPECT_EQ(placement_hash(0), 0u); }

// Golden values of small and extreme ids: file order depends on them for ever.
TEST(PlacementHashTest, GoldenValues) {
  EXPECT_EQ(placement_hash(1), 0x5692161d100b05e5ULL);
  EXPECT_EQ(placement_hash(2), 0xdbd238973a2b148aULL);
  EXPECT_EQ(placement_hash(-1), 0xb4d055fcf2cbbd7bULL);
  EXPECT_EQ(placement_hash(std::numeric_limits<int64_t>::max()), 0x5a682afe7965debdULL);
  EXPECT_EQ(placement_hash(std::numeric_limits<int64_t>::min()), 0x25c26ea579cea98aULL);
}

TEST(PlacementHashTest, InverseUndoesItBothWays) {
  const int64_t extremes[] = {0, 1, -1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
  for (const int64_t id : extremes) EXPECT_EQ(inverse_placement_hash(placement_hash(id)), id);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const int64_t id = static_cast<int64_t>(philox64(7, 0, i));
    ASSERT_EQ(inverse_placement_hash(placement_hash(id)), id);
    const uint64_t hash = philox64(7, 1, i);
    ASSERT_EQ(placement_hash(inverse_placement_hash(hash)), hash);
  }
}

// Flipping any one bit of the id flips each bit of the hash about half of the time.
TEST(PlacementHashTest, Avalanche) {
  constexpr int kSamples = 2000;
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (uint64_t i = 0; i < kSamples; ++i) {
      const uint64_t id = philox64(3, bit, i);
      flipped += std::popcount(placement_hash(static_cast<int64_t>(id)) ^
                               placement_hash(static_cast<int64_t>(id ^ (1ULL << bit))));
    }
    EXPECT_NEAR(flipped / (64.0 * kSamples), 0.5, 0.02) << "input bit " << bit;
  }
}

TEST(Xxh3Test, PublishedValues) {
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2ULL);
  EXPECT_EQ(xxh3("abc"), 0x78af5f94892f3950ULL);
}

TEST(Xxh3Test, SeedAndEveryByteCount) {
  EXPECT_NE(xxh3("abc", 1), xxh3("abc"));
  EXPECT_NE(xxh3(std::string("a\0b", 3)), xxh3(std::string("a\0c", 3)));
  EXPECT_NE(xxh3(std::string(1, '\0')), xxh3(""));
}

}  // namespace
}  // namespace millrace
