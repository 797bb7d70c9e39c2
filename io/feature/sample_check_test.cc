#include "io/feature/sample_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status check(const char* text) {
  SampleConfig sample;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &sample)) << text;
  return check_sample("here", sample, {"click", "buy"});
}

class GoodTest : public testing::TestWithParam<const char*> {};
TEST_P(GoodTest, IsTaken) { EXPECT_OK(check(GetParam())); }
INSTANTIATE_TEST_SUITE_P(Samples, GoodTest,
                         testing::Values("", "rate: 1 negative_rate: 1", "rate: 0.001",
                                         "negative_rate: 1e-6 correct_weights: false",
                                         "negative_rate: 0.1 label: 'buy' resample: false"));

class BadTest : public testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadTest, IsAnErrorThatSaysWhat) {
  EXPECT_THAT(check(GetParam().first),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("here"), HasSubstr(GetParam().second))));
}
using Case = std::pair<const char*, const char*>;
INSTANTIATE_TEST_SUITE_P(
    Samples, BadTest,
    testing::Values(Case{"rate: 0", "rate is 0; must be above 0 and at most 1"},
                    Case{"negative_rate: 0", "negative_rate is 0"},
                    Case{"label: 'clicks'", "no label \"clicks\"; did you mean \"click\"?"},
                    Case{"label: 'user'", "no label \"user\""}));

}  // namespace
}  // namespace millrace
