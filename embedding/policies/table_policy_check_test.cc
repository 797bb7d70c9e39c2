#include "embedding/policies/table_policy_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TableConfig table(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

TEST(TablePolicyCheckTest, Accepts) {
  for (const char* text : {
           "",
           "admission {}",
           "admission { always {} }",
           "admission { read_only {} }",
           "admission { count { min_count: 1 } }",
           "admission { count { min_count: 2147483647 } }",
           "admission { count { min_count: 255 sketch { capacity: 1 error_probability: 1e-6 } } }",
           "admission { probability { probability: 1 } }",
           "default_value { initial {} }",
           "default_value { constant { value: -3 } }",
           "eviction { norm_below: 1e-30 idle_steps: 9 }",
           "eviction { frequency_below: 0.5 half_life_steps: 0.5 }",
           "limit {}",
           "limit { max_bytes: 1 on_full: REJECT }",
           "limit { max_rows: 9223372036854775807 on_full: EVICT_LFU evict_to: 1 }",
       }) {
    EXPECT_OK(check_table_policies("t", table(text))) << text;
  }
}

// (configuration, error)
class RefusedTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(RefusedTest, NamesTableAndField) {
  const auto [text, error] = GetParam();
  EXPECT_THAT(check_table_policies("table \"t\"", table(text)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

using Case = std::tuple<const char*, const char*>;

INSTANTIATE_TEST_SUITE_P(
    All, RefusedTest,
    testing::Values(
        Case{"admission { count {} }", "table \"t\".admission.count: min_count is missing"},
        Case{"admission { count { min_count: 0 } }",
             "table \"t\".admission.count: min_count is 0; must be 1 to 2147483647"},
        Case{"admission { count { min_count: 256 sketch {} } }",
             "min_count is 256; must be 1 to 255"},
        Case{"admission { count { min_count: 2 sketch { capacity: 0 } } }",
             "table \"t\".admission.count.sketch: capacity is 0; must be 1 to 1000000000"},
        Case{"admission { count { min_count: 2 sketch { error_probability: 0 } } }",
             "error_probability is 0; must be at least 1e-06 and below 1"},
        Case{"admission { probability {} }",
             "table \"t\".admission.probability: probability is missing"},
        Case{"admission { probability { probability: 0 } }", "probability is 0; must be above 0"},
        Case{"default_value { constant { value: nan } }",
             "table \"t\".default_value.constant: value is nan; must be finite"},
        Case{"eviction {}", "table \"t\".eviction: says not what to evict"},
        Case{"eviction { half_life_steps: 3 }", "says not what to evict"},
        Case{"eviction { idle_steps: 0 }", "table \"t\".eviction: idle_steps is 0"},
        Case{"eviction { idle_seconds: -1 }", "idle_seconds is -1; must be greater than 0"},
        Case{"eviction { idle_windows: 0 }", "idle_windows is 0; must be 1 to 65536"},
        Case{"eviction { frequency_below: 0 }", "frequency_below is 0"},
        Case{"eviction { frequency_below: 2 half_life_steps: -1 }", "half_life_steps is -1"},
        Case{"eviction { idle_steps: 2 half_life_steps: 3 }",
             "half_life_steps is given without frequency_below"},
        Case{"limit { max_rows: -1 }", "table \"t\".limit: max_rows is -1; must be at least 0"},
        Case{"limit { on_full: REJECT }",
             "on_full is REJECT, but neither max_rows nor max_bytes is given"},
        Case{"limit { max_rows: 5 evict_to: 0 }", "evict_to is 0; must be above 0 and at most 1"}));

}  // namespace
}  // namespace millrace
