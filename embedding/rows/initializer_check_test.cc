#include "embedding/rows/initializer_check.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <tuple>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

// `text` is part of a TableConfig.
absl::Status check(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_initializer("t.initializer", config.initializer());
}

TEST(InitializerCheckTest, AcceptsTheEndsOfBounds) {
  for (const char* text : {
           "",
           "initializer {}",
           "initializer { uniform { low: 1 high: 1 } }",
           "initializer { truncated_normal { low: 7.9 high: 100 } }",
           "initializer { truncated_normal { low: -9 high: -7.9 stddev: 0 } }",
       }) {
    EXPECT_OK(check(text)) << text;
  }
}

using Case = std::tuple<const char*, const char*>;
class InitializerCheckRefusedTest : public testing::TestWithParam<Case> {};

TEST_P(InitializerCheckRefusedTest, NamesPlaceAndField) {
  const auto [text, error] = GetParam();
  EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

INSTANTIATE_TEST_SUITE_P(
    All, InitializerCheckRefusedTest,
    testing::Values(
        Case{"initializer { constant { value: 1e39 } }",
             "t.initializer.constant: value is 1e+39; must be finite"},
        Case{"initializer { uniform { low: 1 high: 0 } }",
             "t.initializer.uniform: low 1 is above high 0"},
        Case{"initializer { normal { mean: inf } }", "t.initializer.normal: mean is inf"},
        Case{"initializer { truncated_normal { mean: inf } }",
             "t.initializer.truncated_normal: mean is inf"},
        Case{"initializer { truncated_normal { low: 2 high: 2 } }",
             "t.initializer.truncated_normal: low 2 is not below high 2"},
        Case{"initializer { truncated_normal { high: inf } }", "high is inf; must be finite"},
        Case{"initializer { truncated_normal { low: 8 high: 9 } }", "low is 8; must be below 8"},
        Case{"initializer { truncated_normal { low: -9 high: -8 } }",
             "high is -8; must be above -8"},
        Case{"initializer { xavier { gain: -1 } }", "t.initializer.xavier: gain is -1"},
        Case{"initializer { kaiming { negative_slope: inf } }",
             "t.initializer.kaiming: negative_slope is inf"}));

}  // namespace
}  // namespace millrace
