#include "framework/loop/train_step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/conformance/train_step_conformance.h"

namespace millrace {

namespace {

[[maybe_unused]] const bool kStandardTrainStep =
    register_train_step_conformance("StandardTrainStep", create_standard_train_step);

TEST(SeedGeneratorsTest, EachArgumentCounts) {
  const auto drawn = [](uint64_t seed, int64_t step, int64_t micro_batch, int rank) {
    seed_generators(seed, step, micro_batch, rank);
    return at::rand({1}).item<double>();
  };
  const double number = drawn(1, 2, 3, 4);
  EXPECT_EQ(drawn(1, 2, 3, 4), number);
  EXPECT_NE(drawn(2, 2, 3, 4), number);
  EXPECT_NE(drawn(1, 3, 3, 4), number);
  EXPECT_NE(drawn(1, 2, 4, 4), number);
  EXPECT_NE(drawn(1, 2, 3, 5), number);
  EXPECT_NE(drawn(1, 2, 4, 3), number) << "micro-batch and rank are not interchangeable";
}

}  // namespace

}  // namespace millrace
