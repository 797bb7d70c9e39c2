// Tests of the trainer on data in windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "framework/trainer.h"
#include "tests/fakes/event_lists.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Key;

// A stream of these windows, and the events of training on the stream.
class TrainerWindowsTest : public testing::Test {
 protected:
  std::unique_ptr<Trainer> windowed(std::vector<FakeWindow> windows, TrainerOptions options = {},
                                    RecordingHook::OnEvent on_event = nullptr) {
    TinyTrainerOptions tiny;
    tiny.trainer = std::move(options);
    tiny.clock = &clock_;
    TrainerParts parts = tiny_parts(tiny);
    parts.train_data = std::make_unique<FakeWindowedDataset>(tiny.train, std::move(windows));
    auto trainer = Trainer::create(tiny.trainer, std::move(parts));
    EXPECT_OK(trainer);
    EXPECT_OK((*trainer)->add_hook(std::make_unique<RecordingHook>(&events_, std::move(on_event))));
    return *std::move(trainer);
  }

  Events events_;
  FakeClock clock_;
};

TEST_F(TrainerWindowsTest, WindowsAreEvaluatedBeforeTheyAreTrainedOn) {
  TrainerOptions options;
  options.progressive_evaluation = true;
  auto trainer = windowed({{1, 0}, {0, 0}, {1, 0}}, options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  const Events evaluation = join({{"before_window"}, kEvalStep, {"after_evaluate"}});
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch"},
                                 evaluation,
                                 kStep,
                                 {"out_of_data(window)", "after_window"},
                                 {"before_window", "out_of_data(window)", "after_window"},
                                 evaluation,
                                 kStep,
                                 {"out_of_data(window)", "after_window"},
                                 {"out_of_data(stream)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.eval.count("next_window"), 1u);
}

TEST_F(TrainerWindowsTest, HooksWriteNothingBeforeTheOutputDirectoryIsLocked) {
  TinyTrainerOptions tiny;
  tiny.trainer.progressive_evaluation = true;
  TrainerParts parts = tiny_parts(tiny);
  parts.train_data =
      std::make_unique<FakeWindowedDataset>(tiny.train, std::vector<FakeWindow>{{1, 0}});
  auto saver =
      std::make_unique<FakeSaver>([](const TrainState&, const auto&) { return CheckpointInfo(); });
  saver->open_status = absl::FailedPreconditionError("locked by another run");
  parts.saver = std::move(saver);
  ASSERT_OK_AND_ASSIGN(auto trainer, Trainer::create(tiny.trainer, std::move(parts)));
  ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&events_, nullptr)));
  EXPECT_THAT(trainer->train(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         testing::HasSubstr("locked by another run")));
  EXPECT_THAT(events_, ElementsAre("start", "before_epoch", "before_window", "end"));
}

TEST_F(TrainerWindowsTest, PairedSetsEndTrainingWithTheirStream) {
  TinyTrainerOptions tiny;
  tiny.clock = &clock_;
  TrainerParts parts = tiny_parts(tiny);
  parts.train_data = std::make_unique<FakeWindowedDataset>(
      tiny.train, std::vector<FakeWindow>{{1, 0}, {1, 0}, {1, 0}, {1, 0}});
  parts.paired_sets.push_back(
      {"later",
       std::make_unique<FakeWindowedDataset>(tiny.eval, std::vector<FakeWindow>{{1, 0}, {1, 3}}),
       {"mean"}});
  ASSERT_OK_AND_ASSIGN(auto trainer, Trainer::create(tiny.trainer, std::move(parts)));
  ASSERT_OK(trainer->add_hook(std::make_unique<RecordingHook>(&events_, nullptr)));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  const Events window = join({{"before_window"},
                              kStep,
                              kEvalStep,
                              {"after_evaluate"},
                              {"out_of_data(window)", "after_window"}});
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch"},
                                 window,
                                 window,
                                 {"before_window"},
                                 kStep,
                                 {"out_of_data(window)", "after_window"},
                                 {"out_of_data(stream)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.progress.window, 3);
  EXPECT_THAT(summary.eval.at("later"), ElementsAre(Key("loss"), Key("mean")));
}

TEST_F(TrainerWindowsTest, WindowsOpenAndCloseBetweenEpochAndStep) {
  auto trainer = windowed({{2, 0}, {0, 0}, {1, 5}});
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch", "before_window"},
                                 kStep,
                                 kStep,
                                 {"out_of_data(window)", "after_window"},
                                 {"before_window", "out_of_data(window)", "after_window"},
                                 {"before_window"},
                                 kStep,
                                 {"out_of_data(window)", "after_window"},
                                 {"out_of_data(stream)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.progress.window, 3);
  EXPECT_EQ(summary.progress.epoch, 1);
  EXPECT_EQ(summary.progress.step, 3);
  EXPECT_EQ(clock_.elapsed(), 5 * TrainerOptions().poll_interval) << "one poll for each early look";
}

TEST_F(TrainerWindowsTest, AStopLeavesTheWindowOpen) {
  auto trainer = windowed({{2, 0}, {2, 0}}, {}, [](HookContext& context, absl::string_view event) {
    if (event == "after_step") {
      EXPECT_TRUE(context.windowed());
      context.requests().stop("enough");
    }
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.outcome, Outcome::kStopped);
  EXPECT_THAT(events_,
              ElementsAreArray(join(
                  {{"start", "before_epoch", "before_window"}, kStep, {"after_report", "end"}})));
  EXPECT_EQ(summary.progress.window, 0);
}

TEST_F(TrainerWindowsTest, AWindowThatIsCutShortCompletesWithoutOutOfData) {
  TrainerOptions options;
  options.max_steps_per_window = 1;
  options.max_windows = 2;
  auto trainer = windowed({{2, 0}, {2, 0}, {2, 0}}, options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_THAT(events_, ElementsAreArray(join({{"start", "before_epoch", "before_window"},
                                              kStep,
                                              {"after_window", "before_window"},
                                              kStep,
                                              {"after_window", "after_report", "end"}})));
  EXPECT_EQ(summary.outcome, Outcome::kCompleted);
  EXPECT_EQ(summary.progress.window, 2);
}

TEST_F(TrainerWindowsTest, EpochsOfSomeWindowsContinueTheStream) {
  TrainerOptions options;
  options.max_windows_per_epoch = 2;
  options.max_epochs = 0;
  const std::vector<FakeWindow> windows = {{1, 0}, {2, 0}, {1, 0}};
  auto trainer = windowed(windows, options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  const Events window = join({{"before_window"}, kStep, {"out_of_data(window)", "after_window"}});
  const Events of_two =
      join({{"before_window"}, kStep, kStep, {"out_of_data(window)", "after_window"}});
  EXPECT_THAT(events_, ElementsAreArray(
                           join({{"start", "before_epoch"},
                                 window,
                                 of_two,
                                 {"after_epoch", "before_epoch"},
                                 window,
                                 {"out_of_data(stream)", "after_epoch", "after_report", "end"}})));
  EXPECT_EQ(summary.progress.epoch, 2);
  EXPECT_EQ(summary.progress.step, 4);

  // The weights are those of one epoch, also in two runs with the limit in the same place.
  const auto whole = windowed(windows);
  ASSERT_OK(whole->train());
  EXPECT_EQ(fingerprint(trainer->model()), fingerprint(whole->model()));
  const auto parts = windowed(windows, options);
  ASSERT_OK(parts->train({.max_windows = 2}));
  EXPECT_EQ(parts->progress().epoch, 1);
  ASSERT_OK(parts->train({.max_epochs = 1}));
  EXPECT_EQ(parts->progress().epoch, 2);
  EXPECT_EQ(fingerprint(parts->model()), fingerprint(whole->model()));
}

TEST_F(TrainerWindowsTest, AnEvaluationHasTheWindowsThatAreReady) {
  const auto trainer = windowed({{1, 0}});
  events_.clear();
  FakeWindowedDataset data({.batch_size = 8}, {{2, 0}, {0, 0}, {1, 0}, {1, -1}});
  ASSERT_OK_AND_ASSIGN(const EvaluationResult all, trainer->evaluate(data, {.name = "stream"}));
  EXPECT_EQ(all.examples, 24);
  EXPECT_EQ(all.batches, 3);
  const auto windows = [this] {
    return std::count(events_.begin(), events_.end(), "eval:after_window");
  };
  EXPECT_EQ(windows(), 3);
  EXPECT_THAT(events_, testing::Not(testing::Contains("eval:out_of_data(stream)")))
      << "more windows may come";
  EXPECT_THAT(events_, testing::Contains("eval:out_of_data(window)"));
  events_.clear();
  ASSERT_OK_AND_ASSIGN(const EvaluationResult one,
                       trainer->evaluate(data, {.name = "stream", .limits = {.max_windows = 1}}));
  EXPECT_EQ(one.examples, 16);
  EXPECT_EQ(windows(), 1);
  FakeWindowedDataset none({}, {{1, -1}});
  EXPECT_THAT(trainer->evaluate(none, {.name = "stream", .no_examples = "nothing is ready"}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("nothing is ready")));
}

TEST_F(TrainerWindowsTest, TimeLimitsAreServedWhileNoWindowComes) {
  TrainerOptions options;
  options.max_elapsed = absl::Minutes(5);
  options.poll_interval = absl::Seconds(10);
  auto trainer = windowed({{1, 0}, {1, -1}}, options);
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.outcome, Outcome::kCompleted);
  EXPECT_EQ(summary.progress.step, 1);
  EXPECT_EQ(summary.progress.elapsed, absl::Minutes(5));
}

}  // namespace
}  // namespace millrace
