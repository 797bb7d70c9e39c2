#include "framework/precision/precision_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status check(const std::string& text) {
  PrecisionConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_precision("train.precision", config);
}

TEST(PrecisionCheckTest, Accepts) {
  for (const char* text :
       {"", "compute: FLOAT32", "loss_scale { initial: 65536 }", "compute: BFLOAT16",
        "compute: FLOAT16",
        "compute: FLOAT16 loss_scale { initial: 1 min: 1 growth_interval: 1 growth_factor: 4 "
        "backoff_factor: 0.1 }"}) {
    EXPECT_OK(check(text));
  }
}

TEST(PrecisionCheckTest, NamesWhatIsOutOfRange) {
  const auto refused = [](const std::string& fields, const std::string& what) {
    EXPECT_THAT(check("compute: FLOAT16 loss_scale { " + fields + " }"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("train.precision.loss_scale: "), HasSubstr(what))));
  };
  refused("initial: 1e39", "initial is 1e+39; must be a positive, normal number of float32");
  refused("growth_interval: 0", "growth_interval is 0");
  refused("growth_factor: 1", "growth_factor is 1; must be above 1 and finite");
  refused("backoff_factor: 1", "backoff_factor is 1; must be above 0 and below 1");
  for (const char* value : {"0", "1e5", "nan"}) {
    refused(std::string("min: ") + value, "min is");
  }
  // All mistakes are reported together.
  refused("min: 0 growth_factor: 1", "growth_factor is 1");
  refused("min: 0 growth_factor: 1", "min is 0");
}

TEST(PrecisionCheckTest, RefusesAScaleThatDoesNothing) {
  EXPECT_THAT(check("compute: BFLOAT16 loss_scale { min: 0.5 }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does nothing")));
}

}  // namespace
}  // namespace millrace
