#include "optim/rows/row_optimizer_registry.h"

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

}  // namespace
}  // namespace millrace
