#include "optim/rows/row_optimizer_check.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <tuple>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

// Checks `text`, a part of a TableConfig.
absl::Status check(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_sparse_optimizer("t.optimizer", config.optimizer());
}

TEST(RowOptimizerCheckTest, AcceptsNumbersInRange) {
  EXPECT_OK(check(""));
  EXPECT_OK(check("optimizer { learning_rate: 0 adagrad { epsilon: 1e-300 weight_decay: 1 } }"));
}

using Case = std::tuple<const char*, const char*>;
class RowOptimizerCheckRefusedTest : public testing::TestWithParam<Case> {};

TEST_P(RowOptimizerCheckRefusedTest, NamesPlaceAndField) {
  const auto [text, error] = GetParam();
  EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

INSTANTIATE_TEST_SUITE_P(
    All, RowOptimizerCheckRefusedTest,
    testing::Values(
        Case{"optimizer { learning_rate: -1 }", "t.optimizer: learning_rate is -1"},
        Case{"optimizer { learning_rate: 1e39 }", "learning_rate is 1e+39"},
        Case{"optimizer { sgd { weight_decay: -1 } }", "t.optimizer.sgd: weight_decay is -1"},
        Case{"optimizer { adagrad { epsilon: 0 } }", "t.optimizer.adagrad: epsilon is 0"},
        Case{"optimizer { rowwise_adagrad { initial_accumulator: -1 } }",
             "t.optimizer.rowwise_adagrad: initial_accumulator is -1"},
        Case{"optimizer { adam { beta1: 1 } }", "t.optimizer.adam: beta1 is 1"},
        Case{"optimizer { ftrl { beta: -1 } }", "t.optimizer.ftrl: beta is -1"}));

}  // namespace
}  // namespace millrace
