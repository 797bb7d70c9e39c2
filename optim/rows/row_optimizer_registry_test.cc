#include "optim/rows/row_optimizer_registry.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <tuple>

#include "base/status_matchers.h"

namespace millrace {
namespace {

std::string name_of(const SparseOptimizerConfig& config) {
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = create_row_optimizer(config);
  EXPECT_OK(optimizer);
  return std::string((*optimizer)->name());
}

TEST(RowOptimizerRegistryTest, MakesEachKind) {
  SparseOptimizerConfig config;
  EXPECT_EQ(name_of(config), "adam");
  config.mutable_sgd();
  EXPECT_EQ(name_of(config), "sgd");
  config.mutable_adagrad();
  EXPECT_EQ(name_of(config), "adagrad");
  config.mutable_rowwise_adagrad();
  EXPECT_EQ(name_of(config), "rowwise_adagrad");
  config.mutable_adam();
  EXPECT_EQ(name_of(config), "adam");
  config.mutable_adamw();
  EXPECT_EQ(name_of(config), "adamw");
  config.mutable_ftrl();
  EXPECT_EQ(name_of(config), "ftrl");
}

TEST(RowOptimizerRegistryTest, PassesNumbersOn) {
  SparseOptimizerConfig config;
  config.mutable_adagrad()->set_initial_accumulator(0.25);
  EXPECT_EQ((*create_row_optimizer(config))->slots(4)[0], (SlotSpec{"sum", 4, 0.25f}));
  config.mutable_rowwise_adagrad()->set_epsilon(-1);
  EXPECT_THAT(create_row_optimizer(config), StatusIs(absl::StatusCode::kInvalidArgument));
  config.mutable_sgd()->set_weight_decay(-1);
  EXPECT_THAT(create_row_optimizer(config), StatusIs(absl::StatusCode::kInvalidArgument,
                                                     testing::HasSubstr("sgd: weight_decay")));
  config.mutable_adamw()->set_beta1(1);
  EXPECT_THAT(create_row_optimizer(config),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("adamw: beta1")));
  config.mutable_adamw()->set_beta1(0.9);
  config.mutable_adamw()->set_step_count(SparseAdam::ROW);
  EXPECT_EQ((*create_row_optimizer(config))->slots(4)[2], (SlotSpec{"step", 1, 0.0f}));
  config.mutable_ftrl()->set_initial_accumulator(0.5);
  EXPECT_EQ((*create_row_optimizer(config))->slots(4)[1], (SlotSpec{"n", 4, 0.5f}));
}

class IdleOptimizer : public RowOptimizer {
 public:
  absl::string_view name() const override { return "idle"; }
  std::vector<SlotSpec> slots(int64_t) const override { return {}; }
  void update(const UpdateContext&, int64_t, absl::Span<const RowUpdate>) const override {}
};
MILLRACE_REGISTER_ROW_OPTIMIZER(idle, "changes nothing", [](const CustomConfig& config) {
  EXPECT_EQ(config.name(), "idle");
  return std::make_unique<IdleOptimizer>();
});

TEST(RowOptimizerRegistryTest, ARegisteredOptimizerIsMadeByName) {
  SparseOptimizerConfig config;
  config.mutable_custom()->set_name("idle");
  EXPECT_EQ(name_of(config), "idle");
  config.mutable_custom()->set_name("idol");
  EXPECT_THAT(create_row_optimizer(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("no row optimizer \"idol\"")));
}

using testing::HasSubstr;

// `text` is part of a TableConfig.
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
