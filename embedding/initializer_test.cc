#include "embedding/initializer.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

std::vector<float> row_of(const InitializerConfig& config, uint64_t seed, absl::string_view table,
                          int64_t id, int64_t dim) {
  absl::StatusOr<Initializer> initializer = Initializer::create(config, seed, table);
  EXPECT_OK(initializer);
  std::vector<float> row(dim);
  initializer->fill(id, absl::MakeSpan(row));
  return row;
}

InitializerConfig normal(double mean, double stddev) {
  InitializerConfig config;
  config.mutable_normal()->set_mean(mean);
  config.mutable_normal()->set_stddev(stddev);
  return config;
}

// Golden values, made by a separate program: they stand in docs/embedding.md and never change.
TEST(InitializerTest, UniformGoldenValues) {
  InitializerConfig config;
  config.mutable_uniform();
  EXPECT_THAT(row_of(config, 7, "items", 0, 5),
              ElementsAre(0x1.2d528cp-7f, -0x1.dd6952p-9f, -0x1.14bcecp-9f, -0x1.87d4ccp-10f,
                          -0x1.2c4378p-7f));
  EXPECT_THAT(row_of(config, 7, "items", -1, 5),
              ElementsAre(0x1.e45b9ep-8f, 0x1.286b34p-8f, 0x1.d8ee7ap-10f, 0x1.2f30a4p-10f,
                          0x1.192148p-13f));
  EXPECT_THAT(row_of(config, 7, "items", kLowest, 3),
              ElementsAre(0x1.80fcp-11f, -0x1.48e876p-8f, 0x1.d0cc5cp-9f));
  EXPECT_THAT(row_of(config, 7, "items", 123456789, 5),
              ElementsAre(0x1.10337p-9f, 0x1.10ef2ep-7f, 0x1.3998fp-8f, -0x1.2cda4cp-7f,
                          -0x1.fc6b28p-8f));
}

TEST(InitializerTest, NormalGoldenValues) {
  // The separate program computed the quantile another way, to 1e-9.
  const std::vector<float> expected = {0.00263290014f, 0.0138167804f, 0.00641052937f,
                                       -0.0173993539f, -0.0121539673f};
  EXPECT_THAT(row_of(normal(0, 0.01), 7, "items", 123456789, 5),
              testing::Pointwise(testing::FloatEq(), expected));
}

TEST(InitializerTest, UniformIsTheDefault) {
  InitializerConfig uniform;
  uniform.mutable_uniform();
  EXPECT_EQ(row_of(InitializerConfig(), 1, "t", 5, 8), row_of(uniform, 1, "t", 5, 8));
}

TEST(InitializerTest, ConstantIsConstant) {
  InitializerConfig config;
  config.mutable_constant()->set_value(-0.25);
  EXPECT_THAT(row_of(config, 1, "t", 99, 3), testing::Each(-0.25f));
}

TEST(InitializerTest, DependsOnSeedTableAndId) {
  const InitializerConfig config = normal(0, 1);
  const std::vector<float> row = row_of(config, 1, "a", 5, 4);
  EXPECT_EQ(row, row_of(config, 1, "a", 5, 4));
  EXPECT_NE(row, row_of(config, 2, "a", 5, 4));
  EXPECT_NE(row, row_of(config, 1, "b", 5, 4));
  EXPECT_NE(row, row_of(config, 1, "a", 6, 4));
}

TEST(InitializerTest, AColumnDoesNotDependOnTheWidth) {
  const std::vector<float> wide = row_of(normal(0, 1), 1, "a", 5, 11);
  for (int64_t dim = 1; dim < 11; ++dim) {
    EXPECT_EQ(row_of(normal(0, 1), 1, "a", 5, dim),
              std::vector<float>(wide.begin(), wide.begin() + dim));
  }
}

TEST(InitializerTest, MomentsAndRangeAreRight) {
  InitializerConfig config;
  config.mutable_uniform()->set_low(-3);
  config.mutable_uniform()->set_high(1);
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  constexpr int kIds = 20000, kDim = 8;
  for (int64_t id = 0; id < kIds; ++id) {
    for (const float value : row_of(config, 3, "t", id, kDim)) {
      ASSERT_GE(value, -3);
      ASSERT_LE(value, 1);
      sum += value;
      squares += value * value;
    }
    for (const float value : row_of(normal(2, 0.5), 3, "t", id, kDim)) {
      normal_sum += value;
      normal_squares += (value - 2) * (value - 2);
    }
  }
  constexpr double kCount = kIds * kDim;
  EXPECT_NEAR(sum / kCount, -1, 0.02);
  EXPECT_NEAR(squares / kCount, 1 + 16.0 / 12, 0.02);
  EXPECT_NEAR(normal_sum / kCount, 2, 0.01);
  EXPECT_NEAR(normal_squares / kCount, 0.25, 0.005);
}

TEST(InitializerTest, RefusesBadNumbers) {
  InitializerConfig config;
  config.mutable_uniform()->set_low(1);
  config.mutable_uniform()->set_high(0);
  EXPECT_THAT(Initializer::create(config, 1, "users"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("users")));
  config.mutable_constant()->set_value(NAN);
  EXPECT_THAT(Initializer::create(config, 1, "users"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Initializer::create(normal(0, -1), 1, "users"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Initializer::create(normal(INFINITY, 1), 1, "users"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
