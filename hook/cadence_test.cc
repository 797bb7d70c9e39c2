#include "hook/cadence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the steps from 1 to 10, one every 0.1 s, at which the cadence triggers.
std::vector<int64_t> due_steps(const Cadence& cadence, int64_t total_steps = 0) {
  std::vector<int64_t> due;
  Progress last;
  for (int64_t step = 1; step <= 10; ++step) {
    const Progress now = {.step = step, .elapsed = step * absl::Milliseconds(100)};
    if (cadence.crossed(last, now, total_steps)) due.push_back(step);
    last = now;
  }
  return due;
}

TEST(CadenceTest, EverySoManySteps) {
  EXPECT_THAT(due_steps({}), IsEmpty());
  EXPECT_THAT(due_steps({.every_steps = 1}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(due_steps({.every_steps = 3}), ElementsAre(3, 6, 9));
  EXPECT_THAT(due_steps({.every_steps = 11}), IsEmpty());
}

TEST(CadenceTest, EverySoMuchTime) {
  EXPECT_THAT(due_steps({.every = absl::Milliseconds(300)}), ElementsAre(3, 6, 9));
  EXPECT_THAT(due_steps({.every = absl::Milliseconds(250)}), ElementsAre(3, 5, 8, 10));
  EXPECT_THAT(due_steps({.every = absl::Hours(1)}), IsEmpty());
}

TEST(CadenceTest, TriggersAddUp) {
  EXPECT_THAT(due_steps({.every_steps = 4, .every = absl::Milliseconds(300)}),
              ElementsAre(3, 4, 6, 8, 9));
}

TEST(CadenceTest, FromAFirstPoint) {
  EXPECT_THAT(due_steps({.every_steps = 2, .after_steps = 5}), ElementsAre(6, 8, 10));
  EXPECT_THAT(due_steps({.every_steps = 2, .after_steps = 6}), ElementsAre(6, 8, 10));
  EXPECT_THAT(due_steps({.every = absl::Milliseconds(300), .after = absl::Milliseconds(550)}),
              ElementsAre(6, 9));
  const Cadence both = {.every_steps = 5, .every_epochs = 1, .after_epochs = 3};
  EXPECT_FALSE(both.crossed({.step = 1, .epoch = 1}, {.step = 1, .epoch = 2}));
  EXPECT_TRUE(both.crossed({.step = 1, .epoch = 2}, {.step = 1, .epoch = 3}));
  EXPECT_TRUE(both.crossed({.step = 4}, {.step = 5})) << "after_epochs is for epochs alone";
  const Cadence windows = {.every_windows = 2, .after_windows = 3};
  EXPECT_FALSE(windows.crossed({.window = 1}, {.window = 2}));
  EXPECT_TRUE(windows.crossed({.window = 3}, {.window = 4}));
}

TEST(CadenceTest, SharesOfTheSteps) {
  EXPECT_THAT(due_steps({.every_share = 0.25}, 10), ElementsAre(3, 5, 8, 10));
  EXPECT_THAT(due_steps({.every_share = 0.1}, 30), ElementsAre(3, 6, 9)) << "0.1 * 30 is above 3";
  EXPECT_THAT(due_steps({.every_share = 0.25, .after_steps = 5}, 10), ElementsAre(5, 8, 10));
  EXPECT_THAT(due_steps({.every_share = 0.01}, 10), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(due_steps({.every_share = 0.25}), IsEmpty()) << "the total is not known";
}

TEST(CadenceTest, EpochsAndWindows) {
  const Cadence epochs = {.every_epochs = 2};
  EXPECT_FALSE(epochs.crossed({.epoch = 0}, {.step = 9, .epoch = 1}));
  EXPECT_TRUE(epochs.crossed({.epoch = 1}, {.epoch = 2}));
  EXPECT_FALSE(epochs.crossed({.epoch = 2}, {.epoch = 2}));
  const Cadence windows = {.every_windows = 1};
  EXPECT_TRUE(windows.crossed({.window = 4}, {.window = 5}));
  EXPECT_FALSE(windows.crossed({.window = 5}, {.step = 1, .window = 5}));
}

TEST(CadenceTest, AMultipleThatWasJumpedOverCounts) {
  const Cadence cadence = {.every_steps = 100};
  EXPECT_TRUE(cadence.crossed({.step = 99}, {.step = 101}));
  EXPECT_TRUE(cadence.crossed({.step = 50}, {.step = 350}));
  EXPECT_FALSE(cadence.crossed({.step = 100}, {.step = 199}));
  EXPECT_FALSE(cadence.crossed({.step = 100}, {.step = 100}));
}

// Only Progress decides, so a run that continues at step 150 triggers where the earlier run would
// have.
TEST(CadenceTest, SurvivesAResume) {
  const Cadence cadence = {.every_steps = 100, .every = absl::Hours(1)};
  const Progress resumed = {.step = 150, .elapsed = absl::Minutes(90)};
  EXPECT_FALSE(cadence.crossed(resumed, {.step = 199, .elapsed = absl::Minutes(119)}));
  EXPECT_TRUE(cadence.crossed(resumed, {.step = 200, .elapsed = absl::Minutes(119)}));
  EXPECT_TRUE(cadence.crossed(resumed, {.step = 151, .elapsed = absl::Minutes(120)}));
}

TEST(CadenceTest, StartAndEndAreNoCrossings) {
  const Cadence cadence = {.at_start = true, .at_end = true};
  EXPECT_FALSE(cadence.crossed({}, {}));
  EXPECT_FALSE(cadence.crossed({}, {.step = 1}));
}

TEST(CadenceTest, Enabled) {
  EXPECT_FALSE(Cadence().enabled());
  for (const Cadence& cadence :
       {Cadence{.every_steps = 1}, Cadence{.every = absl::Seconds(1)}, Cadence{.every_epochs = 1},
        Cadence{.every_windows = 1}, Cadence{.every_share = 0.5}, Cadence{.at_start = true},
        Cadence{.at_end = true}}) {
    EXPECT_TRUE(cadence.enabled()) << cadence.to_string();
  }
}

TEST(CadenceTest, FromConfig) {
  EXPECT_FALSE(Cadence::from_config({}).enabled());
  CadenceConfig config;
  config.set_every_steps(5);
  config.set_every_seconds(0.25);
  config.set_every_epochs(2);
  config.set_every_windows(3);
  config.set_at_start(true);
  config.set_at_end(true);
  config.set_every_share(0.5);
  config.set_after_steps(6);
  config.set_after_seconds(0.75);
  config.set_after_epochs(7);
  config.set_after_windows(8);
  const Cadence cadence = Cadence::from_config(config);
  EXPECT_EQ(cadence.every_steps, 5);
  EXPECT_EQ(cadence.every, absl::Milliseconds(250));
  EXPECT_EQ(cadence.every_epochs, 2);
  EXPECT_EQ(cadence.every_windows, 3);
  EXPECT_TRUE(cadence.at_start);
  EXPECT_TRUE(cadence.at_end);
  EXPECT_EQ(cadence.every_share, 0.5);
  EXPECT_EQ(cadence.after_steps, 6);
  EXPECT_EQ(cadence.after, absl::Milliseconds(750));
  EXPECT_EQ(cadence.after_epochs, 7);
  EXPECT_EQ(cadence.after_windows, 8);
}

TEST(CadenceTest, ToString) {
  EXPECT_EQ(Cadence().to_string(), "never");
  EXPECT_EQ((Cadence{.every_steps = 1}).to_string(), "every step");
  EXPECT_EQ((Cadence{.every_steps = 100, .at_end = true}).to_string(), "every 100 steps, at end");
  EXPECT_EQ((Cadence{.every_steps = 2, .every_share = 0.1, .after_steps = 9}).to_string(),
            "every 2 steps from step 9, every 10 % of the steps from step 9");
  EXPECT_EQ(
      (Cadence{.every = absl::Minutes(10), .every_epochs = 1, .every_windows = 2, .at_start = true})
          .to_string(),
      "at start, every epoch, every 2 windows, every 10m");
}

}  // namespace
}  // namespace millrace
