#include "embedding/id_map/id_hash.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "base/hash.h"

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
      // Half of the trials, within six standard deviations.
      for (int i = 0; i < 64; ++i) EXPECT_NEAR(flips[i], kTrials / 2, 134) << bit << " to " << i;
    }
  }
}

// Ids whose hashes share bits under one seed do not under another seed.
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

// Odd factors give different ids different hashes.
TEST(IdHashTest, FactorsAreOdd) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const IdHash hash(seed);
    for (const uint64_t factor : hash.secrets().factors) EXPECT_EQ(factor % 2, 1u);
  }
}

// Patterns of ids fill buckets, chosen by the bits that an id map uses, as evenly as random ids for
// any seed: the variance of the size of buckets equals their mean (Poisson).
TEST(IdHashTest, PatternsSpreadOverBucketsLikeChance) {
  constexpr uint64_t kIds = 1 << 16, kBuckets = 1 << 13;
  const std::vector<std::function<uint64_t(uint64_t)>> patterns = {
      [](uint64_t i) { return i; },
      [](uint64_t i) { return i << 12; },
      [](uint64_t i) { return i << 32; },
      [](uint64_t i) { return i << 48; },
      [](uint64_t i) { return i + (uint64_t{1} << 63); },
      [](uint64_t i) { return i * 1000003; },
      [](uint64_t i) { return (i & 0xff) | (i >> 8) << 40; },
      // The halves of ids differ in the same way.
      [](uint64_t i) { return i << 32 | i; },
      [](uint64_t i) { return i << 40 | i << 8; },
      [](uint64_t i) { return i << 48 | i << 16; },
      [](uint64_t i) { return inverse_placement_hash(uint64_t{5} << 60 | i); },
  };
  for (size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const IdHash hash(seed);
      std::vector<int> sizes(kBuckets);
      for (uint64_t i = 0; i < kIds; ++i) {
        ++sizes[hash(static_cast<int64_t>(patterns[pattern](i))) / 64 % kBuckets];
      }
      constexpr double kMean = static_cast<double>(kIds) / kBuckets;
      double squares = 0;
      for (const int size : sizes) squares += (size - kMean) * (size - kMean);
      // Seven standard deviations of the estimate.
      EXPECT_NEAR(squares / kBuckets / kMean, 1, 0.11) << pattern << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace millrace
