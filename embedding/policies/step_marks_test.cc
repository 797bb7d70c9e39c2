#include "embedding/policies/step_marks.h"

#include <random>

#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(StepMarksTest, KnowsNothingAtFirst) {
  StepMarks marks(10, 1);
  EXPECT_EQ(marks.step_at(1e9), -1);
  marks.add(5, 100);
  EXPECT_EQ(marks.step_at(4.999), -1);
  EXPECT_EQ(marks.step_at(5), 100);
  EXPECT_EQ(marks.step_at(1e9), 100);
}

TEST(StepMarksTest, WindowsAreExact) {
  StepMarks marks(3, 1);
  for (int window = 0; window < 20; ++window) {
    marks.add(window, window * 10);
    for (int ago = 0; ago <= 3 && ago <= window; ++ago) {
      EXPECT_EQ(marks.step_at(window - ago), (window - ago) * 10);
    }
    EXPECT_LE(marks.state().size(), 4u);
  }
}

// Compares with all times.
TEST(StepMarksTest, IsNeverNewerAndOlderByTheSpacingAtMost) {
  constexpr double kHorizon = 50, kSpacing = 0.5;
  std::mt19937 random(1);
  StepMarks marks(kHorizon, kSpacing);
  std::vector<StepMark> all;
  double at = 0;
  double longest = 0;  // the longest pause between steps
  for (int64_t step = 1; step < 20'000; ++step) {
    const double pause = static_cast<double>(random() % 1000) / 5000;
    longest = std::max(longest, pause);
    at += pause;
    marks.add(at, step);
    all.push_back({at, step});
    const int64_t cut = marks.step_at(at - kHorizon);
    if (cut < 0) {
      EXPECT_LT(at - kHorizon, all.front().at);
      continue;
    }
    const double was = all[cut - 1].at;
    ASSERT_LE(was, at - kHorizon);
    ASSERT_GE(was, at - kHorizon - kSpacing - longest);
    ASSERT_LE(marks.state().size(), kHorizon / kSpacing + 3);
  }
}

TEST(StepMarksTest, StateGoesOutAndComesBack) {
  StepMarks marks(10, 1), other(10, 1);
  for (int i = 0; i < 30; ++i) marks.add(i * 0.7, i);
  ASSERT_OK(other.set_state(marks.state()));
  for (int i = 30; i < 60; ++i) {
    marks.add(i * 0.7, i);
    other.add(i * 0.7, i);
    EXPECT_EQ(other.state(), marks.state());
  }
}

TEST(StepMarksTest, RefusesDamagedStates) {
  StepMarks marks(10, 5);
  marks.add(1, 2);
  const std::vector<StepMark> before = marks.state();
  EXPECT_THAT(marks.set_state({{1, 5}, {1, 6}}), StatusIs(kInvalid));
  EXPECT_THAT(marks.set_state({{1, 5}, {2, 4}}), StatusIs(kInvalid));
  EXPECT_THAT(marks.set_state({{1, -1}}), StatusIs(kInvalid));
  EXPECT_THAT(marks.set_state({{std::nan(""), 1}}), StatusIs(kInvalid));
  EXPECT_THAT(marks.set_state({{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}),
              StatusIs(kInvalid));
  EXPECT_EQ(marks.state(), before);
  EXPECT_OK(marks.set_state({}));
}

}  // namespace
}  // namespace millrace
