#include "tools/weights_flag.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(WeightsFlagTest, TakesItsTwoWords) {
  CLI::App command;
  std::string weights;
  add_weights_flag(command, weights);
  command.parse("--weights trained");
  EXPECT_EQ(weights, "trained");
  command.parse("--weights average");
  EXPECT_EQ(weights, "average");
  EXPECT_THROW(command.parse("--weights ema"), CLI::ValidationError);
}

TEST(WeightsFlagTest, WithoutItEvaluationsDecide) {
  TrainConfig train;
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kTrained);
  EXPECT_EQ(chosen_weights("average", train), ModelWeights::kAverage);
  train.mutable_moving_average();
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kAverage);
  EXPECT_EQ(chosen_weights("trained", train), ModelWeights::kTrained);
  train.mutable_moving_average()->set_evaluate(false);
  EXPECT_EQ(chosen_weights("", train), ModelWeights::kTrained);
}

}  // namespace
}  // namespace millrace
