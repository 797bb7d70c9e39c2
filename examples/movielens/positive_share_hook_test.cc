#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "examples/movielens/positive_share.pb.h"
#include "hook/hook_registry.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pair;

absl::StatusOr<std::unique_ptr<Hook>> make(int64_t every_steps) {
  HookConfig config;
  config.set_name("positive_share");
  config.MutableExtension(positive_share)->set_every_steps(every_steps);
  return create_hook(config, {FileSystem::local(), Clock::real(), "", {}});
}

// Keeps the values of reports.
class Listener : public Hook {
 public:
  explicit Listener(std::vector<double>* shares) : shares_(*shares) {}
  absl::string_view name() const override { return "listener"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    shares_.push_back(report.values.at("positive_share"));
    return absl::OkStatus();
  }

 private:
  std::vector<double>& shares_;
};

StepResult step(std::vector<float> labels) {
  StepResult result;
  result.applied = true;
  result.examples = static_cast<int64_t>(labels.size());
  result.labels = at::tensor(labels).view({static_cast<int64_t>(labels.size()), 1});
  return result;
}

class PositiveShareHookTest : public testing::Test {
 protected:
  // Returns the values that were reported since the last call.
  std::map<std::string, double> reported() {
    std::map<std::string, double> values;
    context_.reported.drain(&values);
    return values;
  }
  // Calls the hook after a step and then serves requests, as the trainer does.
  void after_step(const StepResult& result) {
    ++context_.at.step;
    EXPECT_OK(hook_->after_step(context_, result));
    context_.served = context_.at;
  }
  std::unique_ptr<Hook> hook_ = *make(2);
  FakeHookContext context_;
};

[[maybe_unused]] const bool kPositiveShareHook =
    register_hook_conformance("PositiveShareHook", {.make = [] { return *make(3); }});

TEST_F(PositiveShareHookTest, TheShareOfAllLabelsSinceTheLast) {
  after_step(step({1, 1, 1, 1}));
  EXPECT_THAT(reported(), IsEmpty()) << "only every second step";
  after_step(step({0}));
  EXPECT_THAT(reported(), ElementsAre(Pair("positive_share", 0.8)));
  after_step(step({0}));
  after_step(step({1}));
  EXPECT_THAT(reported(), ElementsAre(Pair("positive_share", 0.5)));
}

TEST_F(PositiveShareHookTest, RefusedStepsAndEvaluationsDoNotCount) {
  after_step(step({1}));
  StepResult refused = step({0, 0});
  refused.applied = false;
  after_step(refused);
  context_.phase_is = Phase::kEvaluate;
  after_step(step({0, 0}));
  after_step(step({0, 0}));
  EXPECT_THAT(reported(), IsEmpty());
  context_.phase_is = Phase::kTrain;
  StepResult elsewhere;  // a step that has examples only on other ranks
  elsewhere.applied = true;
  after_step(elsewhere);
  after_step(step({1, 0}));
  EXPECT_THAT(reported(), ElementsAre(Pair("positive_share", DoubleEq(2.0 / 3))));
}

TEST_F(PositiveShareHookTest, AResumedRunReportsTheSameShare) {
  after_step(step({1, 1, 1}));
  HookState state;
  ASSERT_OK(hook_->save_state(state));
  hook_ = *make(2);
  ASSERT_OK(hook_->load_state({&state, 1}));
  ASSERT_OK(hook_->start(context_));
  after_step(step({0}));
  EXPECT_THAT(reported(), ElementsAre(Pair("positive_share", 0.75)));
}

TEST_F(PositiveShareHookTest, BadCadence) {
  EXPECT_THAT(make(0), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("positive_share"), HasSubstr("every_steps is 0"))));
}

TEST_F(PositiveShareHookTest, ReportsOfATrainingRunHoldIt) {
  TinyTrainerOptions options;
  options.trainer.report = {.every_steps = 2};
  const std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  std::vector<double> shares;
  ASSERT_OK(trainer->add_hook(*make(2)));
  ASSERT_OK(trainer->add_hook(std::make_unique<Listener>(&shares)));
  ASSERT_OK(trainer->train());
  EXPECT_THAT(shares, ElementsAre(AllOf(Gt(0), Lt(1)), AllOf(Gt(0), Lt(1))));
}

}  // namespace
}  // namespace millrace
