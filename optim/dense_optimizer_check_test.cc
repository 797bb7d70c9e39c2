#include "optim/dense_optimizer_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status check(const std::string& text) {
  DenseOptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_dense_optimizer("here", config);
}

TEST(DenseOptimizerCheckTest, Accepts) {
  for (const char* text :
       {"", "learning_rate: 0", "sgd {}", "sgd { momentum: 0.5 nesterov: true }", "adamw_tf {}",
        "frozen: true", "frozen: true pattern: \"a\"", "frozen: false lamb {}"}) {
    EXPECT_OK(check(text)) << text;
  }
}

TEST(DenseOptimizerCheckTest, RefusesNamingPlaceAndField) {
  const auto fails = [](const std::string& text, const std::string& what) {
    EXPECT_THAT(check(text), StatusIs(kInvalid, HasSubstr(what)));
  };
  fails("learning_rate: -1", "here: learning_rate is -1; must be at least 0 and finite");
  fails("sgd { momentum: -1 }", "here.sgd: momentum is -1");
  fails("sgd { nesterov: true }", "here.sgd: nesterov needs a momentum above 0");
  fails("adagrad { epsilon: 0 }", "here.adagrad: epsilon is 0; must be greater than 0 and finite");
  fails("adamw_tf { beta2: 1 }", "here.adamw_tf: beta2 is 1");
  fails("rmsprop { alpha: 1 }", "here.rmsprop: alpha is 1; must be at least 0 and below 1");
  fails("lamb { max_weight_norm: -1 }", "here.lamb: max_weight_norm is -1");
  fails("frozen: true adam {}",
        "here: its parameters are frozen: a kind would do nothing; remove it or frozen");
  fails("frozen: true schedule { constant {} }", "here: its parameters are frozen: schedule");
  fails("frozen: true learning_rate: 1", "here: its parameters are frozen: learning_rate");
  fails("frozen: true learning_rate: -1", "learning_rate is -1");
  fails("adamw { beta1: 1 }", "here.adamw: beta1 is 1; must be at least 0 and below 1");
}

TEST(ClippingCheckTest, TakesALimitAboveZero) {
  ClippingConfig config;
  config.set_max_norm(1e-30);
  EXPECT_OK(check_clipping("clipping", config));
  config.set_max_value(5);
  EXPECT_OK(check_clipping("clipping", config));
}

TEST(ClippingCheckTest, RefusesNamingPlaceAndField) {
  const auto fails = [](const ClippingConfig& config, const char* what) {
    EXPECT_THAT(check_clipping("train.clipping", config), StatusIs(kInvalid, HasSubstr(what)));
  };
  ClippingConfig config;
  fails(config, "train.clipping: no limit, so that nothing is clipped; give max_norm or max_value");
  config.set_over(ClippingConfig::DENSE);
  fails(config, "train.clipping: no limit");
  config.set_max_norm(0);
  fails(config, "train.clipping: max_norm is 0; must be greater than 0 and finite");
  config.set_max_value(-1);
  fails(config, "train.clipping: max_value is -1");
}

TrainConfig parse(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return train;
}

TEST(MovingAverageCheckTest, NeedsParametersThatAreTrained) {
  for (const char* good :
       {"", "optimizer { frozen: true }", "moving_average {}",
        "moving_average {} more_optimizers { pattern: 'a' } optimizer { frozen: true }",
        "moving_average {} more_optimizers { pattern: 'a' frozen: true }"}) {
    EXPECT_OK(check_moving_average_of(parse(good))) << good;
  }
  for (const char* bad :
       {"moving_average {} optimizer { frozen: true }",
        "moving_average {} more_optimizers { frozen: true } optimizer { frozen: true }"}) {
    EXPECT_THAT(check_moving_average_of(parse(bad)),
                StatusIs(kInvalid, HasSubstr("train.moving_average: all dense parameters are")))
        << bad;
  }
  EXPECT_THAT(check_moving_average_of(parse("moving_average { decay: 1 }")),
              StatusIs(kInvalid, HasSubstr("train.moving_average: decay is 1")));
}

}  // namespace
}  // namespace millrace
