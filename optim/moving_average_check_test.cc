#include "optim/moving_average_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

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
