#include "framework/loop/paired_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tests/fakes/fake_windowed_dataset.h"

namespace millrace {
namespace {

PairedEvaluation paired() {
  return PairedEvaluation(
      {"later", std::make_unique<FakeWindowedDataset>(FakeDatasetOptions{},
                                                      std::vector<FakeWindow>{{2}, {3}, {1}})});
}

// Evaluates the next window for a training window. Returns the number of batches in the window; -1:
// no window is ready.
int64_t evaluate(PairedEvaluation& set, int64_t training_window) {
  const auto stream = set.stream();
  EXPECT_OK(stream.status());
  const auto state = (*stream)->next_window();
  EXPECT_OK(state.status());
  if (state->kind != WindowState::kReady) return -1;
  EXPECT_OK(set.open_window().start_epoch(0));
  int64_t batches = 0;
  while (true) {
    const auto batch = set.open_window().next();
    EXPECT_OK(batch.status());
    if (!batch.ok() || !batch->has_value()) break;
    ++batches;
  }
  set.evaluated(state->window, training_window);
  return batches;
}

TEST(PairedEvaluationTest, OneWindowForEachOfTraining) {
  PairedEvaluation set = paired();
  EXPECT_FALSE(set.was_evaluated(0));
  EXPECT_EQ(evaluate(set, 0), 2);
  EXPECT_TRUE(set.was_evaluated(0));
  EXPECT_FALSE(set.was_evaluated(1));
  EXPECT_EQ(evaluate(set, 1), 3);
  EXPECT_EQ(evaluate(set, 2), 1);
  EXPECT_EQ(evaluate(set, 3), -1);
}

TEST(PairedEvaluationTest, GoesOnFromItsState) {
  PairedEvaluation set = paired();
  ObjectState begin;
  ASSERT_OK(set.save_state(begin));
  EXPECT_TRUE(begin.empty());
  evaluate(set, 0);
  ObjectState state;
  ASSERT_OK(set.save_state(state));
  PairedEvaluation other = paired();
  ASSERT_OK(other.load_state({&state, 1}));
  EXPECT_TRUE(other.was_evaluated(0));
  EXPECT_EQ(evaluate(other, 1), 3);
  ASSERT_OK(other.load_state({&begin, 1}));
  EXPECT_EQ(evaluate(other, 0), 2) << "from its begin again";
}

TEST(PairedEvaluationTest, DamagedStateIsRefused) {
  PairedEvaluation set = paired();
  const ObjectState damaged{.version = 1, .bytes = "\xff\xff"};
  EXPECT_THAT(set.load_state({&damaged, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  const ObjectState other{.version = 2, .bytes = ""};
  EXPECT_THAT(set.load_state({&other, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(evaluate(set, 0), 2);
}

}  // namespace
}  // namespace millrace
