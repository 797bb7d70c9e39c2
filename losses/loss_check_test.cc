#include "losses/loss_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "losses/loss_registry.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TaskConfig parse(const std::string& text) {
  TaskConfig task;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &task)) << text;
  return task;
}

TEST(LossCheckTest, NumbersInRange) {
  for (const char* text :
       {"", "weight: 1e-9", "binary_cross_entropy { label_smoothing: 0.99 positive_weight: 100 }",
        "focal { gamma: 0 alpha: 0 }", "focal { alpha: 1 }", "pairwise {}",
        "softmax { temperature: 0.01 }", "mean_squared_error {}", "mean_absolute_error {}",
        "huber { delta: 0.1 }"}) {
    EXPECT_OK(check_loss("t", parse(text))) << text;
    EXPECT_OK(create_loss(parse(text)).status()) << text;
  }
}

TEST(LossCheckTest, NumbersOutOfRangeAreNamed) {
  const auto refused = [](const char* text, const char* message) {
    EXPECT_THAT(check_loss("train.task[0]", parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_THAT(create_loss(parse(text)).status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  };
  refused("weight: 0", "train.task[0]: weight is 0; must be");
  refused("binary_cross_entropy { label_smoothing: 1 }",
          "train.task[0].binary_cross_entropy: label_smoothing is 1; must be");
  refused("focal { gamma: -1 }", "train.task[0].focal: gamma is -1");
  refused("focal { alpha: 1.5 }", "train.task[0].focal: alpha is 1.5; must be in [0, 1]");
  refused("softmax { temperature: 0 }", "train.task[0].softmax: temperature is 0");
  refused("huber { delta: -2 }", "train.task[0].huber: delta is -2");
}

}  // namespace
}  // namespace millrace
