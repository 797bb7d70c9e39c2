#include "embedding/id_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace millrace {
namespace {

TEST(IdHashTest, IsAFunctionOfSeedAndId) {
  EXPECT_EQ(IdHash(5)(7), IdHash(5)(7));
  EXPECT_NE(IdHash(5)(7), IdHash(6)(7));
  EXPECT_NE(IdHash(5)(7), IdHash(5)(8));
}

TEST(IdHashTest, EachBitOfTheIdReachesEachBitOfTheHash) {
  for (const uint64_t seed : {0, 1, 2}) {
    const IdHash hash(seed);
    for (int bit = 0; bit < 64; ++bit) {
      std::vector<int> flips(64);
      constexpr int kTrials = 2000;
      for (int64_t trial = 0; trial < kTrials; ++trial) {
        const int64_t id = trial * 1000003;
        uint64_t flipped = hash(id) ^ hash(static_cast<int64_t>(id ^ uint64_t{1} << bit));
        for (int i = 0; i < 64; ++i) flips[i] += flipped >> i & 1;
      }
      // Half of them, within six standard deviations.
      for (int i = 0; i < 64; ++i) EXPECT_NEAR(flips[i], kTrials / 2, 134) << bit << " to " << i;
    }
  }
}

// Ids that agree in the bits of their hash under one seed are strangers under another.
TEST(IdHashTest, CollisionsOfOneSeedAreNoneOfAnother) {
  constexpr uint64_t kBits = 0xfff;
  const IdHash known(1), other(2);
  std::set<uint64_t> hashes;
  int64_t ids = 0;
  for (int64_t id = 0; ids < 100; ++id) {
    if ((known(id) & kBits) != 0) continue;
    ++ids;
    hashes.insert(other(id) & kBits);
  }
  EXPECT_GT(hashes.size(), 90);
}

}  // namespace
}  // namespace millrace
