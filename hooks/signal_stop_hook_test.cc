#include "hooks/signal_stop_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/status_matchers.h"
#include "checkpoint/state/train_state.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/hanging_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

void (*handler_of(int signal))(int) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

// Returns a trainer of six steps whose forward pass of step `at` raises `signal`.
std::unique_ptr<Trainer> raising_trainer(int signal, int64_t at) {
  TinyTrainerOptions options;
  options.train.batches = 6;
  auto forwards = std::make_shared<int64_t>(0);  // shared with the copies of the function
  options.on_forward = [=](const Batch&) {
    if (++*forwards == at) std::raise(signal);
    return absl::OkStatus();
  };
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  EXPECT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
  return trainer;
}

[[maybe_unused]] const bool kSignalStopHook = register_hook_conformance(
    "SignalStopHook",
    {.make = [] { return std::make_unique<SignalStopHook>(); }, .one_per_process = true});

TEST(SignalStopHookTest, StopsAfterTheStepThatBeginsNext) {
  for (const auto& [signal, reason] : {std::pair(SIGTERM, "signal SIGTERM"),
                                       {SIGINT, "signal SIGINT"},
                                       {SIGHUP, "signal SIGHUP"},
                                       {SIGUSR1, "signal SIGUSR1"},
                                       {SIGUSR2, "signal SIGUSR2"},
                                       {SIGXCPU, "signal SIGXCPU"}}) {
    std::unique_ptr<Trainer> trainer = raising_trainer(signal, 2);
    ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
    EXPECT_EQ(summary.outcome, Outcome::kStopped);
    EXPECT_EQ(summary.stop_reason, reason);
    EXPECT_TRUE(summary.stopped_by_rank);
    EXPECT_EQ(summary.progress.step, 3);
    // Training continues from the same step.
    ASSERT_OK_AND_ASSIGN(const Summary rest, trainer->train());
    EXPECT_EQ(rest.outcome, Outcome::kCompleted);
    EXPECT_EQ(rest.progress.step, 6);
  }
}

TEST(SignalStopHookTest, ASignalInTheLastStepLosesNothing) {
  std::unique_ptr<Trainer> trainer = raising_trainer(SIGTERM, 6);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 6);
  EXPECT_EQ(summary.progress.epoch, 1);
  EXPECT_EQ(summary.outcome, Outcome::kStopped)
      << "what is done at the end is left to the next run";
  ASSERT_OK_AND_ASSIGN(const Summary rest, trainer->train());
  EXPECT_EQ(rest.outcome, Outcome::kCompleted);
  EXPECT_EQ(rest.progress.step, 6);
}

TEST(SignalStopHookTest, ASignalBetweenEpochsStopsBeforeTheNextStep) {
  class RaiseAfterEpoch : public Hook {
   public:
    absl::string_view name() const override { return "raise"; }
    absl::Status after_epoch(HookContext&) override {
      std::raise(SIGTERM);
      return absl::OkStatus();
    }
  };
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
  ASSERT_OK(trainer->add_hook(std::make_unique<RaiseAfterEpoch>()));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 4);
  EXPECT_TRUE(summary.stopped_by_rank);
}

TEST(SignalStopHookTest, ASignalInAnEvaluationEndsIt) {
  TinyTrainerOptions options;
  options.train.batches = 2;
  options.eval.batches = 50;
  auto forwards = std::make_shared<int64_t>(0);  // shared with the copies of the function
  options.on_forward = [=](const Batch&) {
    if (++*forwards == 5) std::raise(SIGTERM);  // the third batch of the evaluation
    return absl::OkStatus();
  };
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train_and_evaluate());
  EXPECT_EQ(summary.outcome, Outcome::kStopped);
  EXPECT_TRUE(summary.stopped_by_rank);
  EXPECT_LT(*forwards, 10);
}

// Returns a number of batches of an epoch; then a signal arrives during the wait for the next
// batch.
std::unique_ptr<Dataset> interrupted_data(int64_t batches) {
  return std::make_unique<HangingDataset>(batches, [] { std::raise(SIGTERM); });
}

// The stop does not wait for a batch, which may never arrive.
TEST(SignalStopHookTest, ASignalWhileDataIsWaitedForIsServedAtOnce) {
  for (const int64_t batches : {0, 1, 3}) {
    SCOPED_TRACE(batches);
    TrainerParts parts = tiny_parts();
    parts.train_data = interrupted_data(batches);
    ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create({}, std::move(parts)));
    ASSERT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
    ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
    EXPECT_EQ(summary.outcome, Outcome::kStopped);
    EXPECT_EQ(summary.stop_reason, "signal SIGTERM");
    EXPECT_TRUE(summary.stopped_by_rank);
    EXPECT_EQ(summary.progress.step, batches) << "what was read is trained on";
    EXPECT_EQ(summary.progress.epoch, 0);
    EXPECT_TRUE(trainer->data_hangs());
    ASSERT_OK_AND_ASSIGN(const TrainState state, trainer->capture());
    EXPECT_FALSE(state.shared.data_ended()) << "the epoch has more, whatever that is";
  }
}

TEST(SignalStopHookTest, SoItIsInAnEvaluation) {
  TrainerParts parts = tiny_parts();
  parts.evaluation_sets[0].data = interrupted_data(2);
  ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create({}, std::move(parts)));
  ASSERT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train_and_evaluate());
  EXPECT_EQ(summary.outcome, Outcome::kStopped);
  EXPECT_EQ(summary.progress.step, 4);
  EXPECT_TRUE(summary.eval.empty());
}

TEST(SignalStopHookTest, AsksOnceInARun) {
  FakeHookContext context;
  SignalStopHook hook;
  for (int run = 0; run < 2; ++run) {
    context.asked.begin_run();
    ASSERT_OK(hook.start(context));
    std::raise(SIGTERM);
    EXPECT_OK(context.asked.run_callbacks());
    EXPECT_TRUE(context.asked.take_this_rank().has(Request::kStop));
    EXPECT_OK(context.asked.run_callbacks());
    EXPECT_TRUE(context.asked.take_this_rank().empty());
    ASSERT_OK(hook.end(context, absl::OkStatus()));
  }
}

TEST(SignalStopHookTest, LooksOnlyBetweenStartAndEnd) {
  FakeHookContext context;
  SignalStopHook hook;
  ASSERT_OK(hook.start(context));
  std::raise(SIGTERM);
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  EXPECT_OK(context.asked.run_callbacks());
  EXPECT_TRUE(context.asked.take_this_rank().empty());
}

TEST(SignalStopHookTest, PutsHandlersBack) {
  const auto mine = [](int) {};
  std::signal(SIGUSR1, mine);
  FakeHookContext context;
  {
    SignalStopHook hook;
    ASSERT_OK(hook.start(context));
    EXPECT_NE(handler_of(SIGTERM), SIG_DFL);
    EXPECT_NE(handler_of(SIGUSR1), static_cast<void (*)(int)>(mine));
    ASSERT_OK(hook.end(context, absl::OkStatus()));
    EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
    EXPECT_EQ(handler_of(SIGINT), SIG_DFL);
    EXPECT_EQ(handler_of(SIGUSR1), static_cast<void (*)(int)>(mine));
    ASSERT_OK(hook.start(context));
  }
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL) << "destroyed without end";
  std::signal(SIGUSR1, SIG_DFL);
}

TEST(SignalStopHookTest, AHangUpThatNohupIgnoresStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  FakeHookContext context;
  SignalStopHook hook;
  ASSERT_OK(hook.start(context));
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  std::signal(SIGHUP, SIG_DFL);
}

TEST(SignalStopHookTest, EvaluationAloneKeepsTheHandlers) {
  FakeHookContext context;
  context.phase_is = Phase::kEvaluate;
  SignalStopHook hook;
  ASSERT_OK(hook.start(context));
  EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
  ASSERT_OK(hook.end(context, absl::OkStatus()));
}

TEST(SignalStopHookTest, OneAtATime) {
  FakeHookContext context;
  SignalStopHook one, two;
  ASSERT_OK(one.start(context));
  EXPECT_THAT(two.start(context),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another trainer")));
  ASSERT_OK(two.end(context, absl::OkStatus()));
  EXPECT_NE(handler_of(SIGTERM), SIG_DFL) << "the first one still listens";
  ASSERT_OK(one.end(context, absl::OkStatus()));
  ASSERT_OK(two.start(context));
  ASSERT_OK(two.end(context, absl::OkStatus()));
}

TEST(SignalStopHookTest, OldSignalsAreForgotten) {
  FakeHookContext context;
  SignalStopHook hook;
  ASSERT_OK(hook.start(context));
  std::raise(SIGTERM);
  ASSERT_OK(hook.end(context, absl::OkStatus()));
  ASSERT_OK(hook.start(context));
  EXPECT_OK(context.asked.run_callbacks());
  EXPECT_TRUE(context.asked.take_this_rank().empty());
  ASSERT_OK(hook.end(context, absl::OkStatus()));
}

TEST(SignalStopHookTest, AWarningBeforeTheFirstTerminationIsNoSecondOne) {
  FakeHookContext context;
  SignalStopHook hook;
  ASSERT_OK(hook.start(context));
  // A shell forwards the SIGHUP that the terminal has already sent; SIGXCPU is sent every second.
  for (const int warning : {SIGUSR1, SIGUSR1, SIGHUP, SIGHUP, SIGXCPU, SIGXCPU, SIGUSR2}) {
    std::raise(warning);
  }
  std::raise(SIGTERM);
  for (const int warning : {SIGUSR1, SIGHUP, SIGXCPU, SIGUSR2}) std::raise(warning);
  EXPECT_OK(context.asked.run_callbacks());
  EXPECT_EQ(context.asked.take_this_rank().first(Request::kStop)->detail, "signal SIGUSR1");
  ASSERT_OK(hook.end(context, absl::OkStatus()));
}

using SignalStopHookDeathTest = testing::Test;

TEST(SignalStopHookDeathTest, ASecondTerminationEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto twice = [](int first, int second) {
    FakeHookContext context;
    SignalStopHook hook;
    if (!hook.start(context).ok()) std::exit(1);
    std::raise(first);
    std::raise(second);
    std::exit(2);
  };
  EXPECT_EXIT(twice(SIGTERM, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(twice(SIGTERM, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(twice(SIGTERM, SIGUSR1), testing::ExitedWithCode(2), "");
}

}  // namespace
}  // namespace millrace
