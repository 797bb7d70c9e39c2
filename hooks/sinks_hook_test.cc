#include "hooks/sinks_hook.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Records its calls unless `calls` is null, and fails at one of them.
class NotingSink : public Sink {
 public:
  NotingSink(std::vector<std::string>* calls, std::string fails_at, bool throws)
      : calls_(calls), fails_at_(std::move(fails_at)), throws_(throws) {}
  absl::Status start(const SinkStart& start) override {
    start_ = start;
    return note(absl::StrCat("start ", start.first_step));
  }
  const SinkStart& last_start() const { return start_; }
  absl::Status write_report(const Report& report) override {
    return note(absl::StrCat("report ", report.steps));
  }
  absl::Status write_evaluation(const EvaluationResult& result) override {
    return note(absl::StrCat("evaluation ", result.set));
  }
  absl::Status flush() override { return note("flush"); }
  bool wants_distributions() const override { return wants_distributions_; }
  void want_distributions() { wants_distributions_ = true; }

 private:
  absl::Status note(const std::string& call) {
    if (calls_ != nullptr) calls_->push_back(call);
    if (call != fails_at_) return absl::OkStatus();
    if (throws_) throw std::runtime_error("broken");
    return absl::UnavailableError("no room");
  }
  std::vector<std::string>* const calls_;
  const std::string fails_at_;
  const bool throws_;
  bool wants_distributions_ = false;
  SinkStart start_;
};

class SinksHookTest : public testing::Test {
 protected:
  // Returns a hook with two sinks; the first sink fails at a call.
  std::unique_ptr<Hook> make(const std::string& fails_at = "", bool throws = false) {
    std::vector<NamedSink> sinks;
    sinks.push_back({"first", std::make_unique<NotingSink>(&first_, fails_at, throws)});
    sinks.push_back({"second", std::make_unique<NotingSink>(&second_, "", false)});
    return std::make_unique<SinksHook>(std::move(sinks));
  }
  // Returns the status of each event.
  std::vector<absl::Status> run(Hook& hook) {
    Report report;
    report.steps = 5;
    EvaluationResult result;
    result.set = "eval";
    return {hook.start(context_), hook.after_report(context_, report),
            hook.after_evaluate(context_, result),
            hook.after_checkpoint(context_, CheckpointInfo()),
            hook.end(context_, absl::OkStatus())};
  }

  FakeHookContext context_;
  std::vector<std::string> first_, second_;
};

TEST_F(SinksHookTest, SinksGetWhatTheHookGets) {
  context_.at.step = 7;
  for (const absl::Status& status : run(*make())) EXPECT_OK(status);
  const auto all = ElementsAre("start 7", "report 5", "evaluation eval", "flush", "flush");
  EXPECT_THAT(first_, all);
  EXPECT_THAT(second_, all);
}

TEST_F(SinksHookTest, ASinkThatFailsIsSwitchedOffAlone) {
  for (const bool throws : {false, true}) {
    first_.clear();
    second_.clear();
    const auto hook = make("report 5", throws);
    const std::vector<absl::Status> events = run(*hook);
    for (const size_t ok : {0, 2, 3, 4}) EXPECT_OK(events[ok]);
    EXPECT_THAT(std::string(events[1].message()),
                HasSubstr("sink first is switched off for the rest of the run: "));
    EXPECT_THAT(first_, ElementsAre("start 0", "report 5")) << throws;
    EXPECT_EQ(second_.size(), 5u) << throws;
    run(*hook);
    EXPECT_EQ(first_.size(), 4u) << "the next run begins with it";
  }
}

TEST_F(SinksHookTest, AnErrorAtTheStartIsReturnedAtTheEnd) {
  const auto hook = make("start 0");
  const std::vector<absl::Status> events = run(*hook);
  for (const size_t ok : {0, 1, 2, 3}) EXPECT_OK(events[ok]);
  EXPECT_THAT(std::string(events[4].message()), HasSubstr("sink first is switched off"));
  EXPECT_EQ(second_.size(), 5u) << "the other one goes on";
}

// A hook with one sink, called as in a run.
class OneSinkHook {
 public:
  OneSinkHook() {
    auto sink = std::make_unique<NotingSink>(&calls_, "", false);
    sink_ = sink.get();
    std::vector<NamedSink> sinks;
    sinks.push_back({"noting", std::move(sink)});
    hook_ = std::make_unique<SinksHook>(std::move(sinks));
  }
  Hook& hook() { return *hook_; }
  // Returns the names that the sink receives at the beginning of a run.
  std::optional<std::set<std::string>> start(int64_t step) {
    context_.at.step = step;
    EXPECT_OK(hook_->start(context_));
    EXPECT_EQ(sink_->last_start().first_step, step);
    return sink_->last_start().written;
  }
  void report(int64_t step) {
    Report report;
    report.progress.step = step;
    EXPECT_OK(hook_->after_report(context_, report));
  }
  void evaluate(int64_t step, const std::string& set) {
    EvaluationResult result;
    result.set = set;
    result.progress.step = step;
    EXPECT_OK(hook_->after_evaluate(context_, result));
  }
  HookState state() const {
    HookState state;
    EXPECT_OK(hook_->save_state(state));
    return state;
  }

 private:
  std::vector<std::string> calls_;
  NotingSink* sink_ = nullptr;
  std::unique_ptr<SinksHook> hook_;
  FakeHookContext context_;
};

// Returns the names that a sink receives if a new hook resumes from a state at `step`.
std::optional<std::set<std::string>> resumed(const HookState& state, int64_t step) {
  OneSinkHook hook;
  EXPECT_OK(hook.hook().load_state({&state, 1}));
  return hook.start(step);
}

using Names = std::set<std::string>;

TEST(SinksHookStateTest, TheStateHasWhatWasWrittenAtTheStep) {
  OneSinkHook hook;
  EXPECT_EQ(hook.start(0), Names());
  hook.evaluate(0, "eval");
  EXPECT_EQ(resumed(hook.state(), 0), Names({"eval"}));
  hook.report(10);
  hook.evaluate(10, "eval");
  const HookState state = hook.state();
  hook.evaluate(10, "late");
  hook.report(20);
  EXPECT_EQ(resumed(state, 10), Names({"train", "eval"}));
  EXPECT_EQ(resumed(state, 15), Names()) << "nothing was written after step 10";
  EXPECT_EQ(resumed(hook.state(), 20), Names({"train"}));
  EXPECT_EQ(hook.start(20), Names({"train"})) << "the next run of the same process";
  EXPECT_EQ(hook.start(10), std::nullopt) << "from a checkpoint without a state of the hook";
}

TEST(SinksHookStateTest, CheckpointsWithoutAStateAreNotKnown) {
  OneSinkHook hook;
  EXPECT_EQ(hook.start(10), std::nullopt);
  hook.evaluate(10, "late");
  EXPECT_TRUE(hook.state().empty()) << "another set may have been written before";
  EXPECT_EQ(hook.start(10), std::nullopt);
  hook.evaluate(20, "eval");
  EXPECT_EQ(resumed(hook.state(), 20), Names({"eval"}));
  ASSERT_OK(hook.hook().load_state({}));
  EXPECT_EQ(hook.start(20), std::nullopt);
}

TEST(SinksHookStateTest, DamagedStatesAreRefused) {
  OneSinkHook hook;
  hook.start(0);
  hook.evaluate(10, "eval");
  const HookState good = hook.state();
  for (const HookState& bad :
       {HookState{2, good.bytes}, HookState{1, ""}, HookState{1, good.bytes + "x"}}) {
    EXPECT_THAT(hook.hook().load_state({&bad, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_EQ(hook.state(), good) << "is as before";
  }
}

[[maybe_unused]] const bool kSinksHook = register_hook_conformance(
    "SinksHook", {.make = [] {
      std::vector<NamedSink> sinks;
      // The suite makes the hooks of its ranks on one thread and runs them on others: no record.
      sinks.push_back({"noting", std::make_unique<NotingSink>(nullptr, "", false)});
      return std::make_unique<SinksHook>(std::move(sinks));
    }});

TEST(SinksHookDistributionsTest, ThoseThatASinkWantsWhenAReportIsDue) {
  std::vector<std::string> calls;
  auto sink = std::make_unique<NotingSink>(&calls, "", false);
  NotingSink& noting = *sink;
  std::vector<NamedSink> sinks;
  sinks.push_back({"noting", std::move(sink)});
  SinksHook hook(std::move(sinks));
  std::vector<NamedParameter> parameters = {{"bias", at::ones({2})}, {"frozen", at::zeros({1})}};
  parameters[0].value.mutable_grad() = at::full({2}, 3.0);
  const Gradients gradients(parameters, nullptr);

  FakeHookContext context;
  context.report_is_due = true;
  ASSERT_OK(hook.after_backward(context, gradients));
  EXPECT_THAT(context.distributions, IsEmpty()) << "no sink wants them";
  noting.want_distributions();
  context.report_is_due = false;
  ASSERT_OK(hook.after_backward(context, gradients));
  EXPECT_THAT(context.distributions, IsEmpty()) << "no report follows";
  context.report_is_due = true;
  ASSERT_OK(hook.after_backward(context, gradients));
  ASSERT_EQ(context.distributions.size(), 3);
  EXPECT_EQ(context.distributions.at("parameters/bias").sum, 2);
  EXPECT_EQ(context.distributions.at("gradients/bias").sum, 6);
  EXPECT_EQ(context.distributions.count("parameters/frozen"), 1);
}

}  // namespace
}  // namespace millrace
