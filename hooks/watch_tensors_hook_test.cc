#include "hooks/watch_tensors_hook.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

WatchTensorsConfig config_of(const std::string& text) {
  WatchTensorsConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Returns the status of the factory for a configuration.
absl::Status create(const std::string& text) {
  HookConfig config;
  config.set_name("watch_tensors");
  *config.MutableExtension(watch_tensors) = config_of(text);
  MemoryFileSystem files;
  return create_hook(config, {files, Clock::real(), "out", {}}).status();
}

// Collects the reports of a run.
class Reports : public Hook {
 public:
  explicit Reports(std::vector<Report>* reports) : reports_(*reports) {}
  absl::string_view name() const override { return "reports"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    reports_.push_back(report);
    return absl::OkStatus();
  }

 private:
  std::vector<Report>& reports_;
};

// The two parameters of a model, and a hook called by a test.
class WatchTensorsHookTest : public testing::Test {
 protected:
  using Values = std::map<std::string, double>;

  WatchTensorsHookTest() {
    parameters_[0].value.mutable_grad() = torch::tensor({0.6, 0.8});
    parameters_[1].value.mutable_grad() = torch::zeros({1});
  }
  // Returns the values that the hook reports in the step after the progress of `context_`.
  absl::StatusOr<Values> step(WatchTensorsHook& hook) {
    const absl::Status status = hook.after_backward(context_, Gradients(parameters_, nullptr));
    ++context_.at.step;
    Values values;
    context_.reported.drain(&values);
    if (!status.ok()) return status;
    return values;
  }
  // Returns the same for the first step of a run that reports at each step.
  absl::StatusOr<Values> first_step(const std::string& config) {
    WatchTensorsHook hook(config_of(config + " when { every_steps: 1 }"));
    EXPECT_OK(hook.start(context_));
    return step(hook);
  }

  std::vector<NamedParameter> parameters_ = {{"mlp.weight", torch::tensor({3.0, -4.0})},
                                             {"mlp.bias", torch::tensor({2.0})}};
  FakeHookContext context_;
};

[[maybe_unused]] const bool kWatchTensorsHook = register_hook_conformance(
    "WatchTensorsHook", {.make = [] {
      return std::make_unique<WatchTensorsHook>(
          config_of("pattern: '*' statistic: NORM statistic: MAX when { every_steps: 1 }"));
    }});

TEST_F(WatchTensorsHookTest, ValuesAndGradientsOfWhatFits) {
  EXPECT_THAT(
      first_step("pattern: '*'"),
      IsOkAndHolds(ElementsAre(Pair("watch/mlp.bias.grad/norm", 0), Pair("watch/mlp.bias/norm", 2),
                               Pair("watch/mlp.weight.grad/norm", testing::DoubleNear(1, 1e-6)),
                               Pair("watch/mlp.weight/norm", 5))));
  EXPECT_THAT(first_step("pattern: 'mlp.bias' pattern: '*weight*' kind: PARAMETERS"),
              IsOkAndHolds(ElementsAre(Key("watch/mlp.bias/norm"), Key("watch/mlp.weight/norm"))));
  EXPECT_THAT(first_step("pattern: '*.grad' statistic: ZERO_SHARE statistic: MAX"),
              IsOkAndHolds(ElementsAre(
                  Pair("watch/mlp.bias.grad/max", 0), Pair("watch/mlp.bias.grad/zero_share", 1),
                  Key("watch/mlp.weight.grad/max"), Pair("watch/mlp.weight.grad/zero_share", 0))));
  EXPECT_THAT(first_step("pattern: 'mlp.bias*' kind: GRADIENTS"),
              IsOkAndHolds(ElementsAre(Key("watch/mlp.bias.grad/norm"))));
}

TEST_F(WatchTensorsHookTest, AParameterWithoutAGradientReportsItsValueAlone) {
  parameters_[1].value.mutable_grad() = at::Tensor();
  EXPECT_THAT(first_step("pattern: 'mlp.bias*'"),
              IsOkAndHolds(ElementsAre(Key("watch/mlp.bias/norm"))));
}

TEST_F(WatchTensorsHookTest, ReadsTensorsOnDueStepsAlone) {
  static std::atomic<int> operators{0};
  const at::CallbackHandle callback =
      at::addThreadLocalCallback(at::RecordFunctionCallback([](const at::RecordFunction&) {
                                   ++operators;
                                   return std::unique_ptr<at::ObserverContext>();
                                 }).scopes({at::RecordScope::FUNCTION}));
  WatchTensorsHook hook(config_of("pattern: '*' when { every_steps: 3 }"));
  ASSERT_OK(hook.start(context_));
  for (int number = 1; number <= 9; ++number) {
    operators = 0;
    const auto values = step(hook);
    ASSERT_OK(values.status());
    EXPECT_EQ(values->empty(), number % 3 != 0) << "step " << number;
    EXPECT_EQ(operators == 0, number % 3 != 0) << "step " << number;
  }
  at::removeCallback(callback);
}

TEST_F(WatchTensorsHookTest, AResumedRunIsDueAtTheSameSteps) {
  context_.at.step = 250;
  WatchTensorsHook hook(config_of("pattern: '*'"));
  ASSERT_OK(hook.start(context_));
  std::vector<int64_t> due;
  while (context_.at.step < 450) {
    if (!step(hook)->empty()) due.push_back(context_.at.step);
  }
  EXPECT_THAT(due, ElementsAre(300, 400));
}

TEST_F(WatchTensorsHookTest, TimeAndEpochsMakeTheNextStepDue) {
  WatchTensorsHook hook(config_of("pattern: '*' when { every_seconds: 10 every_epochs: 2 }"));
  ASSERT_OK(hook.start(context_));
  EXPECT_THAT(step(hook), IsOkAndHolds(IsEmpty()));
  context_.at.elapsed = absl::Seconds(11);
  EXPECT_THAT(step(hook), IsOkAndHolds(testing::SizeIs(4)));
  EXPECT_THAT(step(hook), IsOkAndHolds(IsEmpty()));
  context_.at.epoch = 2;
  EXPECT_THAT(step(hook), IsOkAndHolds(testing::SizeIs(4)));
  EXPECT_THAT(step(hook), IsOkAndHolds(IsEmpty()));
}

TEST_F(WatchTensorsHookTest, APatternThatFitsNothing) {
  EXPECT_THAT(first_step("pattern: 'mlp.*' pattern: 'mlp.bais'"),
              StatusIs(kInvalid,
                       "[millrace.watch_tensors]: pattern \"mlp.bais\" fits no tensor of "
                       "kind BOTH; did you mean \"mlp.bias\"?"));
  EXPECT_THAT(first_step("pattern: '*.grad' kind: PARAMETERS"),
              StatusIs(kInvalid, AllOf(HasSubstr("\"*.grad\" fits no tensor of kind PARAMETERS"),
                                       HasSubstr("; known: mlp.weight, mlp.bias"))));
  parameters_.clear();
  EXPECT_THAT(first_step("pattern: '*'"),
              StatusIs(kInvalid, HasSubstr("; the model has no dense parameters")));
}

TEST_F(WatchTensorsHookTest, WrongConfigurations) {
  EXPECT_OK(create("pattern: '*'"));
  const std::pair<const char*, const char*> cases[] = {
      {"", "[millrace.watch_tensors]: pattern is missing; \"*\" fits every tensor"},
      {"pattern: ''", "a pattern is empty"},
      {"pattern: '*' statistic: STD statistic: STD", "statistic STD is named twice; remove one"},
      {"pattern: '*' when {}", "[millrace.watch_tensors].when: it never comes"},
      {"pattern: '*' when { at_start: true }", "at_start is set, but there are gradients in steps"},
      {"pattern: '*' when { at_end: true every_steps: 1 }", "at_end is set"},
      {"pattern: '*' when { every_steps: -1 }", "every_steps is -1; must be at least 0"},
      {"pattern: '*' when { every_seconds: -2 }", "every_seconds is -2; must be"},
  };
  for (const auto& [config, message] : cases) {
    EXPECT_THAT(create(config), StatusIs(kInvalid, HasSubstr(message))) << config;
  }
}

TEST_F(WatchTensorsHookTest, ReportsOfARunHaveTheValues) {
  TinyTrainerOptions options;
  options.trainer.max_steps = 6;
  options.trainer.max_epochs = 2;
  options.trainer.report = {.every_steps = 2};
  const auto trainer = tiny_trainer(options);
  std::vector<Report> reports;
  ASSERT_OK(trainer->add_hook(std::make_unique<WatchTensorsHook>(
      config_of("pattern: 'weight' pattern: 'bias.grad' when { every_steps: 4 }"))));
  ASSERT_OK(trainer->add_hook(std::make_unique<Reports>(&reports)));
  ASSERT_OK(trainer->train().status());
  ASSERT_EQ(reports.size(), 3u);
  const auto watched = Contains(Key(testing::StartsWith("watch/")));
  EXPECT_THAT(reports[0].values, testing::Not(watched));
  EXPECT_THAT(reports[1].values, Contains(Pair("watch/bias.grad/norm", testing::Gt(0))));
  EXPECT_THAT(reports[1].values, Contains(Pair("watch/weight/norm", testing::Gt(0))));
  EXPECT_THAT(reports[2].values, testing::Not(watched));
}

TEST_F(WatchTensorsHookTest, AWrongPatternEndsARunAtItsFirstStep) {
  const auto trainer = tiny_trainer();
  ASSERT_OK(trainer->add_hook(std::make_unique<WatchTensorsHook>(config_of("pattern: 'wieght'"))));
  EXPECT_THAT(trainer->train().status(),
              StatusIs(kInvalid, AllOf(HasSubstr("hook watch_tensors in after_backward"),
                                       HasSubstr("did you mean \"weight\"?"))));
}

}  // namespace
}  // namespace millrace
