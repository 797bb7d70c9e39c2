#include "optim/dense/dense_optimizer_registry.h"

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

}  // namespace
}  // namespace millrace
