#include "io/mix/mix_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(MixSharesTest, WholeSharesAreExactInEveryBatch) {
  for (uint64_t index = 0; index < 1000; ++index) {
    EXPECT_THAT(mix_shares({3, 1}, 512, index), ElementsAre(384, 128));
    EXPECT_THAT(mix_shares({0.7, 0.2, 0.1}, 100, index), ElementsAre(70, 20, 10));
    EXPECT_THAT(mix_shares({1, 1, 1}, 3, index), ElementsAre(1, 1, 1));
    EXPECT_THAT(mix_shares({5}, 17, index), ElementsAre(17));
  }
}

TEST(MixSharesTest, OthersAreOneOfTheTwoNextAndRightOnTheWhole) {
  const std::vector<double> proportions = {0.6, 0.0003, 0, 1.0 / 3, 1e-9};
  const double total = std::accumulate(proportions.begin(), proportions.end(), 0.0);
  for (const int64_t size : {1, 7, 64, 1000}) {
    std::vector<int64_t> sums(proportions.size(), 0);
    for (int64_t index = 0; index < 10000; ++index) {
      const auto shares = mix_shares(proportions, size, static_cast<uint64_t>(index));
      ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t{0}), size);
      for (size_t i = 0; i < shares.size(); ++i) {
        const double exact = static_cast<double>(size) * proportions[i] / total;
        ASSERT_GE(shares[i], std::max(0.0, std::floor(exact - 1e-6)));
        ASSERT_LE(shares[i], proportions[i] == 0 ? 0 : std::ceil(exact + 1e-6));
        sums[i] += shares[i];
        ASSERT_NEAR(static_cast<double>(sums[i]), exact * static_cast<double>(index + 1), 8)
            << "source " << i << " after " << index + 1 << " batches of " << size;
      }
    }
  }
}

TEST(MixSharesTest, NoExamples) { EXPECT_THAT(mix_shares({1, 2}, 0, 5), ElementsAre(0, 0)); }

TEST(MixSharesTest, DependOnNothingButTheArguments) {
  EXPECT_EQ(mix_shares({0.3, 0.3}, 7, 12345), mix_shares({0.3, 0.3}, 7, 12345));
  EXPECT_NE(mix_shares({0.3, 0.3}, 7, 0), mix_shares({0.3, 0.3}, 7, 1));
}

}  // namespace
}  // namespace millrace
