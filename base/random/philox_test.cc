#include "base/random/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace millrace {
namespace {

constexpr uint32_t kOnes = 0xffffffff;

// The known answers of philox4x32 with 10 rounds in Random123's kat_vectors.
TEST(PhiloxTest, KnownAnswersOfRandom123) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({kOnes, kOnes}, {kOnes, kOnes, kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, HalvesAreLaidOutAsDocumented) {
  EXPECT_EQ(philox(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philox64(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL),
            0x94fdccebd16cfe09ULL);
}

TEST(PhiloxTest, IsAConstantExpression) {
  static_assert(philox64(0, 0, 0) == 0xe169c58d6627e8d5ULL);
}

TEST(PhiloxTest, SeedStreamAndIndexAllMatter) {
  EXPECT_NE(philox64(1, 2, 3), philox64(2, 2, 3));
  EXPECT_NE(philox64(1, 2, 3), philox64(1, 3, 3));
  EXPECT_NE(philox64(1, 2, 3), philox64(1, 2, 4));
  EXPECT_NE(philox64(1, 0, 2), philox64(1, 2, 0));
}

TEST(UniformTest, StaysInItsRange) {
  EXPECT_EQ(uniform24(0), 0.0f);
  EXPECT_EQ(uniform24(0xff), 0.0f);
  EXPECT_EQ(uniform24(0x100), 0x1p-24f);
  EXPECT_EQ(uniform24(0x80000000), 0.5f);
  EXPECT_LT(uniform24(kOnes), 1.0f);
}

TEST(UniformTest, MeanAndVarianceAreThoseOfTheUniformDistribution) {
  constexpr int kSamples = 400'000;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < kSamples / 4; ++i) {
    for (const uint32_t bits : philox(5, 6, i)) {
      const double x = uniform24(bits);
      sum += x;
      squares += x * x;
    }
  }
  const double mean = sum / kSamples;
  EXPECT_NEAR(mean, 0.5, 0.002);
  EXPECT_NEAR(squares / kSamples - mean * mean, 1.0 / 12, 0.001);
}

uint32_t bits_of(double p) { return static_cast<uint32_t>(p * 0x1p32); }

TEST(PhiloxNormalTest, KnownQuantiles) {
  EXPECT_NEAR(normal_quantile(bits_of(0.5)), 0.0, 1e-9);
  EXPECT_NEAR(normal_quantile(bits_of(0.8413447460685429)), 1.0, 1e-8);
  EXPECT_NEAR(normal_quantile(bits_of(0.975)), 1.959963984540054, 1e-8);
  EXPECT_NEAR(normal_quantile(bits_of(0.995)), 2.5758293035489004, 1e-7);
  EXPECT_NEAR(normal_quantile(bits_of(0.001)), -3.090232306167813, 1e-6);
}

TEST(PhiloxNormalTest, EndsAreFinite) {
  EXPECT_NEAR(normal_quantile(0), -6.3379, 1e-3);
  EXPECT_NEAR(normal_quantile(kOnes), 6.3379, 1e-3);
}

TEST(PhiloxNormalTest, IsTheInverseOfTheDistributionFunctionOddAndIncreasing) {
  double last = -std::numeric_limits<double>::infinity();
  for (uint64_t i = 0; i < 0x100000000ULL; i += 1'000'003) {
    const uint32_t bits = static_cast<uint32_t>(i);
    const double x = normal_quantile(bits);
    const double p = (bits + 0.5) * 0x1p-32;
    const double tail = 0.5 * std::erfc(std::fabs(x) / std::sqrt(2.0));
    ASSERT_NEAR(tail / std::fmin(p, 1 - p), 1.0, 1e-7) << bits;
    ASSERT_GT(x, last) << bits;
    ASSERT_EQ(x, -normal_quantile(~bits)) << bits;
    last = x;
  }
}

}  // namespace
}  // namespace millrace
