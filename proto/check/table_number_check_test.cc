#include "proto/check/table_number_check.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <tuple>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TableConfig table(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

absl::Status check(const std::string& text) {
  const TableConfig config = table(text);
  const absl::Status status = check_initializer("t.initializer", config.initializer());
  return status.ok() ? check_sparse_optimizer("t.optimizer", config.optimizer()) : status;
}

TEST(TableNumberCheckTest, AcceptsTheEndsOfEveryRange) {
  for (const char* text : {
           "",
           "initializer {}",
           "initializer { constant { value: -3e38 } }",
           "initializer { uniform { low: 1 high: 1 } }",
           "initializer { normal { stddev: 0 } }",
           "initializer { truncated_normal { low: 7.9 high: 100 } }",
           "initializer { truncated_normal { low: -9 high: -7.9 stddev: 0 } }",
           "initializer { xavier { gain: 0 distribution: NORMAL } }",
           "initializer { kaiming { negative_slope: -1 } }",
           "optimizer { learning_rate: 0 }",
           "optimizer { sgd { weight_decay: 0 } }",
           "optimizer { adagrad { initial_accumulator: 0 epsilon: 1e-300 weight_decay: 1 } }",
           "optimizer { adam { beta1: 0 beta2: 0.9999999 step_count: ROW } }",
           "optimizer { adamw { weight_decay: 0 } }",
           "optimizer { ftrl { beta: 0 l1: 0 l2: 0 initial_accumulator: 0 } }",
       }) {
    EXPECT_OK(check(text)) << text;
  }
}

using Case = std::tuple<const char*, const char*>;
class TableNumberRefusedTest : public testing::TestWithParam<Case> {};

TEST_P(TableNumberRefusedTest, NamesPlaceAndField) {
  const auto [text, error] = GetParam();
  EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

INSTANTIATE_TEST_SUITE_P(
    Initializers, TableNumberRefusedTest,
    testing::Values(
        Case{"initializer { constant { value: 1e39 } }",
             "t.initializer.constant: value is 1e+39; must be finite"},
        Case{"initializer { uniform { low: nan } }", "low is nan"},
        Case{"initializer { uniform { low: 1 high: 0 } }",
             "t.initializer.uniform: low 1 is above high 0"},
        Case{"initializer { normal { mean: inf } }", "t.initializer.normal: mean is inf"},
        Case{"initializer { normal { stddev: -1 } }", "stddev is -1"},
        Case{"initializer { truncated_normal { mean: inf } }",
             "t.initializer.truncated_normal: mean is inf"},
        Case{"initializer { truncated_normal { stddev: -1 } }", "stddev is -1"},
        Case{"initializer { truncated_normal { low: 2 high: 2 } }",
             "t.initializer.truncated_normal: low 2 is not below high 2"},
        Case{"initializer { truncated_normal { high: inf } }", "high is inf; must be finite"},
        Case{"initializer { truncated_normal { low: 8 high: 9 } }", "low is 8; must be below 8"},
        Case{"initializer { truncated_normal { low: -9 high: -8 } }",
             "high is -8; must be above -8"},
        Case{"initializer { xavier { gain: -1 } }", "t.initializer.xavier: gain is -1"},
        Case{"initializer { kaiming { negative_slope: inf } }",
             "t.initializer.kaiming: negative_slope is inf"}));

INSTANTIATE_TEST_SUITE_P(
    Optimizers, TableNumberRefusedTest,
    testing::Values(
        Case{"optimizer { learning_rate: -1 }", "t.optimizer: learning_rate is -1"},
        Case{"optimizer { learning_rate: 1e39 }", "learning_rate is 1e+39"},
        Case{"optimizer { learning_rate: nan }", "learning_rate is nan"},
        Case{"optimizer { sgd { weight_decay: -1 } }", "t.optimizer.sgd: weight_decay is -1"},
        Case{"optimizer { adagrad { epsilon: 0 } }", "t.optimizer.adagrad: epsilon is 0"},
        Case{"optimizer { adagrad { weight_decay: inf } }", "weight_decay is inf"},
        Case{"optimizer { rowwise_adagrad { initial_accumulator: -1 } }",
             "t.optimizer.rowwise_adagrad: initial_accumulator is -1"},
        Case{"optimizer { adam { beta1: 1 } }", "t.optimizer.adam: beta1 is 1"},
        Case{"optimizer { adam { beta2: -0.5 } }", "beta2 is -0.5"},
        Case{"optimizer { adamw { epsilon: 0 } }", "t.optimizer.adamw: epsilon is 0"},
        Case{"optimizer { adamw { weight_decay: -0.5 } }", "weight_decay is -0.5"},
        Case{"optimizer { ftrl { beta: -1 } }", "t.optimizer.ftrl: beta is -1"},
        Case{"optimizer { ftrl { l1: -1 } }", "l1 is -1"},
        Case{"optimizer { ftrl { l2: inf } }", "l2 is inf"},
        Case{"optimizer { ftrl { initial_accumulator: nan } }", "initial_accumulator is nan"}));

}  // namespace
}  // namespace millrace
