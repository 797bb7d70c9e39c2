#include "hooks/logger_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/log.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char kErase[] = "\r\x1b[K";

Report report_at(const Progress& progress) {
  Report report;
  report.progress = progress;
  report.examples_per_second = 15234;
  report.metrics = {{"auc", 0.71234}, {"calibration", 1.0}, {"logloss", 0.125}, {"loss", 0.13}};
  report.tables["a"].rows = 1000;
  report.tables["b"].rows = 250;
  return report;
}

class LoggerHookTest : public testing::Test {
 protected:
  // Returns the text that `call` wrote.
  template <typename Call>
  std::string written(const Call& call) {
    out_.str("");
    EXPECT_OK(call());
    return out_.str();
  }

  std::ostringstream out_;
  FakeClock clock_;
  FakeHookContext context_;
};

std::unique_ptr<Hook> logger(const LoggerOptions& options) {
  static std::ostringstream out;
  static FakeClock clock;
  return std::make_unique<LoggerHook>(options, out, clock);
}

[[maybe_unused]] const bool kLoggerHook =
    register_hook_conformance("LoggerHook", {.make = [] { return logger({}); }});

[[maybe_unused]] const bool kLoggerHookWithProgressLine = register_hook_conformance(
    "LoggerHookWithProgressLine",
    {.make = [] { return logger({.progress_line = true, .max_steps = 6}); }});

TEST_F(LoggerHookTest, LineOfAReport) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  context_.at = {.step = 200, .epoch = 1};
  EXPECT_EQ(written([&] { return hook.after_report(context_, report_at(context_.at)); }),
            "step 200  epoch 2  15.2 k examples/s  loss 0.1300  auc 0.7123  logloss 0.1250  "
            "rows 1.25 k\n");
}

TEST_F(LoggerHookTest, MetricsAreChosenByName) {
  LoggerHook hook({.metrics = {"logloss", "country=7/auc", "none"}}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report = report_at({.step = 200});
  report.metrics["country=7/auc"] = 0.5;
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  loss 0.1300  logloss 0.1250  country=7/auc 0.5000  rows"));
}

TEST_F(LoggerHookTest, EachLabelHasItsAuc) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report;
  report.metrics = {{"loss", 1},          {"click/auc", 0.75},     {"buy/auc", 0.5},
                    {"moving/auc", 0.25}, {"c=1/click/auc", 0.25}, {"epoch/click/auc", 0.25}};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  loss 1.0000  buy/auc 0.5000  click/auc 0.7500\n"));
}

TEST_F(LoggerHookTest, MoreMetricsFollow) {
  LoggerHook hook({.more_metrics = {"auc", "gauc"}}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report;
  report.metrics = {{"loss", 1},           {"auc", 0.75},          {"gauc", 0.5},
                    {"click/gauc", 0.125}, {"moving/gauc", 0.25},  {"c=1/gauc", 0.25},
                    {"mse", 0.5},          {"epoch/click/gauc", 1}};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  loss 1.0000  auc 0.7500  click/gauc 0.1250  gauc 0.5000\n"));
}

LoggerOptions terminal(int64_t columns) {
  return {.progress_line = true, .columns = [columns] { return columns; }};
}

TEST_F(LoggerHookTest, LimitsAndTimeLeft) {
  LoggerHook hook({.max_steps = 400, .max_epochs = 2}, out_, clock_);
  // A resumed run: the speed covers only this run.
  context_.at = {.step = 100, .elapsed = absl::Seconds(5000)};
  ASSERT_OK(hook.start(context_));
  context_.at = {.step = 200, .elapsed = absl::Seconds(5050)};
  Report report;
  report.progress = context_.at;
  EXPECT_EQ(written([&] { return hook.after_report(context_, report); }),
            "step 200/400  epoch 1/2  1:40 left  0 examples/s\n");
  report.progress = {.step = 101, .elapsed = absl::Seconds(5015)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  1:14:45 left  "));
  // At the end the number of finished epochs is shown, and no remaining time.
  report.progress = {.step = 400, .epoch = 2, .elapsed = absl::Seconds(5100)};
  EXPECT_EQ(written([&] { return hook.after_report(context_, report); }),
            "step 400/400  epoch 2/2  0 examples/s\n");
}

TEST_F(LoggerHookTest, TimeLeftOfALimitInSeconds) {
  LoggerHook hook({.max_elapsed = absl::Seconds(600)}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report;
  report.progress = {.step = 1, .elapsed = absl::Seconds(200)};
  EXPECT_EQ(written([&] { return hook.after_report(context_, report); }),
            "step 1  epoch 1  6:40 left  0 examples/s\n");
  report.progress.elapsed = absl::Seconds(601);
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }), Not(HasSubstr("left")));
}

TEST_F(LoggerHookTest, TimeLeftOfEpochsIsKnownAfterTheFirst) {
  LoggerHook hook({.max_epochs = 3, .max_elapsed = absl::Seconds(1000)}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  ASSERT_OK(hook.before_epoch(context_));
  Report report;
  report.progress = {.step = 50, .elapsed = absl::Seconds(50)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  15:50 left  "))
      << "the limit in seconds";
  context_.at = {.step = 100, .epoch = 1, .elapsed = absl::Seconds(100)};
  ASSERT_OK(hook.after_epoch(context_));
  ASSERT_OK(hook.before_epoch(context_));
  report.progress = {.step = 150, .epoch = 1, .elapsed = absl::Seconds(150)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("step 150  epoch 2/3  2:30 left  "));
  context_.phase_is = Phase::kEvaluate;  // not an epoch of training
  ASSERT_OK(hook.after_epoch(context_));
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("  2:30 left  "));
}

TEST_F(LoggerHookTest, TimeLeftOfTheFirstEpochFollowsFromTheSizeOfTheData) {
  LoggerOptions options = terminal(80);
  options.max_epochs = 2;
  options.epoch_steps = 90;
  LoggerHook hook(options, out_, clock_);
  ASSERT_OK(hook.start(context_));
  ASSERT_OK(hook.before_epoch(context_));
  clock_.advance(absl::Seconds(45));
  context_.at = {.step = 45, .elapsed = absl::Seconds(45)};
  EXPECT_EQ(written([&] { return hook.after_step(context_, {}); }),
            "step 45  epoch 1/2  2:15 left  [==>       ]");
  // The estimate was about right.
  context_.at = {.step = 100, .epoch = 1, .elapsed = absl::Seconds(100)};
  ASSERT_OK(hook.after_epoch(context_));
  clock_.advance(absl::Seconds(55));
  EXPECT_THAT(written([&] { return hook.after_step(context_, {}); }),
              HasSubstr("step 100  epoch 2/2  1:40 left  [=====>    ]"));
  ASSERT_OK(hook.end(context_, absl::OkStatus()));
}

TEST_F(LoggerHookTest, TimeLeftOfAResumedEpochFollowsFromTheSizeOfTheData) {
  LoggerHook hook({.max_epochs = 3, .epoch_steps = 100}, out_, clock_);
  context_.at = {.step = 150, .epoch = 1, .elapsed = absl::Seconds(7)};
  ASSERT_OK(hook.start(context_));
  Report report;
  report.progress = {.step = 160, .epoch = 1, .elapsed = absl::Seconds(17)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("step 160  epoch 2/3  2:20 left  "));
}

TEST_F(LoggerHookTest, TheFirstStepsDoNotSayHowLongTheRestTakes) {
  LoggerHook hook({.max_steps = 1000}, out_, clock_);
  context_.at = {.step = 100, .elapsed = absl::Seconds(7)};
  ASSERT_OK(hook.start(context_));
  context_.at = {.step = 101, .elapsed = absl::Seconds(9)};
  ASSERT_OK(hook.after_step(context_, {}));
  Report report;
  report.progress = {.step = 105, .elapsed = absl::Seconds(10)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }), Not(HasSubstr("left")));
  report.progress = {.step = 111, .elapsed = absl::Seconds(10)};
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr("step 111/1000  epoch 1  1:28 left  "))
      << "without the first step: 889 steps of 0.1 s";
}

TEST_F(LoggerHookTest, AShorterReportSaysHowManyStepsItCovers) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report = report_at({.step = 100});
  report.steps = 100;
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }), Not(HasSubstr("last")));
  report.steps = 49;
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              HasSubstr(" examples/s  last 49 steps:  loss 0.1300"));
}

TEST_F(LoggerHookTest, TheRestOfAnEpochDoesNotSayHowLongOneIs) {
  LoggerHook hook({.max_epochs = 3}, out_, clock_);
  context_.at = {.step = 90, .elapsed = absl::Seconds(90)};
  ASSERT_OK(hook.start(context_));
  ASSERT_OK(hook.before_epoch(context_));
  context_.at = {.step = 100, .epoch = 1, .elapsed = absl::Seconds(100)};
  ASSERT_OK(hook.after_epoch(context_));
  EXPECT_THAT(written([&] { return hook.after_report(context_, report_at(context_.at)); }),
              Not(HasSubstr("left")));
  ASSERT_OK(hook.before_epoch(context_));
  context_.at = {.step = 200, .epoch = 2, .elapsed = absl::Seconds(200)};
  ASSERT_OK(hook.after_epoch(context_));
  EXPECT_THAT(written([&] { return hook.after_report(context_, report_at(context_.at)); }),
              HasSubstr("  1:40 left  "));
}

TEST_F(LoggerHookTest, MetricsThatAreNotANumberAreLeftOut) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report = report_at({.step = 1});
  report.metrics["auc"] = std::nan("");
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }), Not(HasSubstr("auc")));
}

TEST_F(LoggerHookTest, LineOfAnEvaluation) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  EvaluationResult result;
  result.set = "part5";
  result.progress.step = 98;
  result.examples = 10000;
  result.elapsed = absl::Milliseconds(1234);
  result.metrics = {{"auc", 0.7}, {"loss", 0.5}};
  EXPECT_EQ(written([&] { return hook.after_evaluate(context_, result); }),
            "step 98  part5:  loss 0.5000  auc 0.7000  10000 examples in 1.23 s\n");
}

TEST_F(LoggerHookTest, LoglossThatEqualsTheLossIsOmitted) {
  LoggerHook hook({}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report = report_at({.step = 1});
  report.metrics["logloss"] = report.metrics["loss"] + 1e-6;
  EXPECT_THAT(written([&] { return hook.after_report(context_, report); }),
              AllOf(HasSubstr("loss 0.1300"), Not(HasSubstr("logloss"))));
}

TEST_F(LoggerHookTest, LinesOfFiguresFitATerminal) {
  LoggerOptions options = terminal(80);
  options.max_steps = 200000;
  options.max_epochs = 10;
  LoggerHook hook(options, out_, clock_);
  ASSERT_OK(hook.start(context_));
  Report report = report_at({.step = 123456, .elapsed = absl::Seconds(60000)});
  report.metrics["ne"] = 0.8;
  // Only whole items are omitted, and the most important items stay.
  EXPECT_EQ(written([&] { return hook.after_report(context_, report); }),
            "step 123456/200000  10:20:00 left  15.2 k examples/s  loss 0.1300  auc 0.7123\n"
            "step 123456/200000  10:20:00 left  15.2 k examples/s  loss 0.1300  auc 0.7123");
  EvaluationResult result;
  result.set = "of_the_last_day";
  result.progress.step = 123456;
  result.examples = 10000;
  result.metrics = report.metrics;
  EXPECT_THAT(written([&] { return hook.after_evaluate(context_, result); }),
              HasSubstr("step 123456  of_the_last_day:  loss 0.1300  auc 0.7123  ne 0.8000\n"));
  ASSERT_OK(hook.end(context_, absl::OkStatus()));
}

TEST_F(LoggerHookTest, ProgressLineIsCutToTheTerminal) {
  LoggerHook hook(terminal(12), out_, clock_);
  ASSERT_OK(hook.start(context_));
  context_.at.step = 123456789;
  clock_.advance(absl::Seconds(1));
  EXPECT_EQ(written([&] { return hook.after_step(context_, {}); }), "step 123456");
  ASSERT_OK(hook.end(context_, absl::OkStatus()));
}

TEST_F(LoggerHookTest, NarrowerTerminalBreaksTheLineIntoRows) {
  int64_t columns = 80;
  LoggerHook hook({.progress_line = true, .columns = [&columns] { return columns; }}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  const auto step = [&] {
    ++context_.at.step;
    clock_.advance(absl::Seconds(1));
    return written([&] { return hook.after_step(context_, {}); });
  };
  EXPECT_EQ(step(), "step 1  epoch 1");
  columns = 10;
  EXPECT_EQ(step(), "\r\x1b[1A\x1b[Jstep 2") << "two rows of the line are erased";
  EXPECT_EQ(step(), std::string(kErase) + "step 3");
  columns = 80;
  EXPECT_EQ(step(), std::string(kErase) + "step 4  epoch 1");
  ASSERT_OK(hook.end(context_, absl::OkStatus()));
}

TEST_F(LoggerHookTest, ABarShowsTheShareThatIsDone) {
  LoggerHook hook({.progress_line = true, .max_steps = 400, .max_epochs = 2}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  ASSERT_OK(hook.before_epoch(context_));
  const auto step = [&](int64_t number) {
    context_.at.step = number;
    clock_.advance(absl::Seconds(1));
    return written([&] { return hook.after_step(context_, {}); });
  };
  EXPECT_THAT(step(1), HasSubstr("step 1/400  epoch 1/2  [>         ]"));
  EXPECT_THAT(step(200), HasSubstr("[=====>    ]"));
  context_.at.epoch = 1;
  context_.at.step = 300;
  ASSERT_OK(hook.after_epoch(context_));
  EXPECT_THAT(step(375), HasSubstr("[=========>]")) << "the limit that is nearer";
  context_.at.epoch = 2;
  EXPECT_THAT(step(399), HasSubstr("[==========]")) << "all epochs are done";
  const std::string last = written([&] { return hook.end(context_, absl::OkStatus()); });
  EXPECT_THAT(last, Not(HasSubstr("[=")));
}

TEST_F(LoggerHookTest, ABarOfALimitInSeconds) {
  LoggerHook hook({.progress_line = true, .max_elapsed = absl::Seconds(100)}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  context_.at = {.step = 7, .elapsed = absl::Seconds(70)};
  EXPECT_THAT(written([&] { return hook.after_step(context_, {}); }), HasSubstr("[=======>  ]"));
}

TEST_F(LoggerHookTest, ColorsOfATerminal) {
  for (const bool colors : {false, true}) {
    LoggerHook hook({.progress_line = true, .colors = colors}, out_, clock_);
    ASSERT_OK(hook.start(context_));
    out_.str("");
    MILLRACE_LOG(WARNING) << "careful";
    MILLRACE_LOG(ERROR) << "broken";
    EvaluationResult result;
    result.set = "eval";
    ASSERT_OK(hook.after_evaluate(context_, result));
    const std::string text = out_.str();
    EXPECT_EQ(text.find("\x1b[33m") != text.npos, colors) << text;
    EXPECT_EQ(text.find("\x1b[31m") != text.npos, colors) << text;
    EXPECT_EQ(text.find("\x1b[1mstep 0  eval:") != text.npos, colors) << text;
    EXPECT_EQ(text.find("\x1b[0m\n") != text.npos, colors) << text;
    ASSERT_OK(hook.end(context_, absl::OkStatus()));
  }
}

TEST_F(LoggerHookTest, FiguresStayAboveTheProgressLineEveryFiveSeconds) {
  LoggerHook hook({.progress_line = true}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  const auto report = [&] {
    context_.at.step += 100;
    return written([&] { return hook.after_report(context_, report_at(context_.at)); });
  };
  const std::string figures = "  epoch 1  15.2 k examples/s  loss 0.1300  auc 0.7123  rows 1.25 k";
  EXPECT_EQ(report(), "step 100" + figures + "\nstep 100" + figures);
  clock_.advance(absl::Milliseconds(4999));
  EXPECT_EQ(report(), kErase + ("step 200" + figures));
  clock_.advance(absl::Milliseconds(1));
  EXPECT_EQ(report(), kErase + ("step 300" + figures) + "\nstep 200" + figures);
  // The last line repeats the line above.
  EXPECT_EQ(written([&] { return hook.end(context_, absl::OkStatus()); }),
            kErase + ("step 300" + figures) + kErase);
}

TEST_F(LoggerHookTest, OtherRanksAreSilent) {
  for (const bool progress_line : {false, true}) {
    LoggerHook hook({.progress_line = progress_line}, out_, clock_);
    context_.rank_is = 1;
    EXPECT_EQ(written([&]() -> absl::Status {
                RETURN_IF_ERROR(hook.start(context_));
                RETURN_IF_ERROR(hook.after_step(context_, {}));
                RETURN_IF_ERROR(hook.after_report(context_, report_at({.step = 1})));
                RETURN_IF_ERROR(hook.after_evaluate(context_, {}));
                return hook.end(context_, absl::OkStatus());
              }),
              "");
  }
}

TEST_F(LoggerHookTest, ProgressLineMovesFiveTimesASecond) {
  LoggerHook hook({.progress_line = true}, out_, clock_);
  EXPECT_EQ(written([&] { return hook.start(context_); }), "");
  const auto step = [&] {
    ++context_.at.step;
    return written([&] { return hook.after_step(context_, {}); });
  };
  EXPECT_EQ(step(), "step 1  epoch 1");
  EXPECT_EQ(step(), "") << "no time has gone by";
  clock_.advance(absl::Milliseconds(199));
  EXPECT_EQ(step(), "");
  clock_.advance(absl::Milliseconds(1));
  EXPECT_EQ(step(), std::string(kErase) + "step 4  epoch 1");

  // Reports do not draw more often; their figures appear with the next drawing.
  EXPECT_THAT(written([&] { return hook.after_report(context_, report_at(context_.at)); }),
              EndsWith("\nstep 4  epoch 1"));
  EXPECT_EQ(written([&] { return hook.after_report(context_, report_at(context_.at)); }), "");
  clock_.advance(absl::Milliseconds(200));
  EXPECT_THAT(step(), MatchesRegex(".*step 5  epoch 1  15.2 k examples/s  loss 0.1300.*"));

  int drawn = 0;
  for (int i = 0; i < 1000; ++i) {  // one second
    clock_.advance(absl::Milliseconds(1));
    drawn += step().empty() ? 0 : 1;
  }
  EXPECT_EQ(drawn, 5);

  // The last state is never lost.
  ++context_.at.step;
  EXPECT_EQ(written([&] { return hook.after_step(context_, {}); }), "");
  const std::string last = written([&] { return hook.end(context_, absl::OkStatus()); });
  EXPECT_THAT(last, testing::StartsWith(std::string(kErase) + "step 1006  epoch 1  15.2 k"));
  EXPECT_THAT(last, EndsWith("\n"));
}

TEST_F(LoggerHookTest, EvaluationStepsDoNotMoveTheLine) {
  LoggerHook hook({.progress_line = true}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  context_.phase_is = Phase::kEvaluate;
  EXPECT_EQ(written([&] { return hook.after_step(context_, {}); }), "");
  EXPECT_EQ(written([&] { return hook.end(context_, absl::OkStatus()); }), "")
      << "no line was drawn, so none is closed";
}

TEST_F(LoggerHookTest, LogLinesGoAboveTheProgressLine) {
  LoggerHook hook({.progress_line = true}, out_, clock_);
  ASSERT_OK(hook.start(context_));
  context_.at.step = 7;
  ASSERT_OK(hook.after_step(context_, {}));
  out_.str("");
  MILLRACE_LOG(WARNING) << "something happened";
  EXPECT_THAT(out_.str(), testing::StartsWith(kErase));
  EXPECT_THAT(out_.str(), EndsWith("something happened\nstep 7  epoch 1"));
  const std::string evaluated = written([&] { return hook.after_evaluate(context_, {}); });
  EXPECT_THAT(evaluated, testing::StartsWith(kErase));
  EXPECT_THAT(evaluated, EndsWith("\nstep 7  epoch 1"));
  EXPECT_EQ(written([&] { return hook.end(context_, absl::OkStatus()); }), "\n");

  testing::internal::CaptureStderr();
  MILLRACE_LOG(WARNING) << "afterwards";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("afterwards"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("afterwards")));
}

TEST_F(LoggerHookTest, LogLinesGoToStderrAgainWhenItGoesWithoutEnd) {
  {
    LoggerHook hook({.progress_line = true}, out_, clock_);
    ASSERT_OK(hook.start(context_));
  }
  testing::internal::CaptureStderr();
  MILLRACE_LOG(WARNING) << "afterwards";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("afterwards"));
}

TEST_F(LoggerHookTest, InATrainer) {
  TinyTrainerOptions options;
  options.trainer.report = {.every_steps = 2};
  options.clock = &clock_;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(
      std::make_unique<LoggerHook>(LoggerOptions{.max_epochs = 1}, out_, clock_)));
  ASSERT_OK(trainer->train_and_evaluate());
  EXPECT_THAT(
      out_.str(),
      MatchesRegex("step 2  epoch 1/1  0 examples/s  loss 0\\.[0-9]*  auc [01]\\.[0-9]*  [^\n]*\n"
                   "step 4  epoch 1/1  0 examples/s  [^\n]*\n"
                   "step 4  eval:  loss [^\n]* 16 examples in 0\\.00 s\n"));
}

TEST(ShortNumberTest, ThreeDigits) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(7), "7");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(0.5), "0.50");
  EXPECT_EQ(short_number(9.994), "9.99");
  EXPECT_EQ(short_number(9.996), "10.0");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.6), "1.00 k");
  EXPECT_EQ(short_number(1234), "1.23 k");
  EXPECT_EQ(short_number(15234), "15.2 k");
  EXPECT_EQ(short_number(999499), "999 k");
  EXPECT_EQ(short_number(999500), "1.00 M");
  EXPECT_EQ(short_number(1234567), "1.23 M");
  EXPECT_EQ(short_number(2.5e9), "2.50 G");
  EXPECT_EQ(short_number(1e12), "1.00 T");
  EXPECT_EQ(short_number(1e15), "1000 T");
  EXPECT_EQ(short_number(-1234), "-1.23 k");
}

}  // namespace
}  // namespace millrace
