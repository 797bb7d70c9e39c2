#include "framework/report/pending_steps.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

StepResult random_step(int64_t examples) {
  StepResult step;
  step.applied = true;
  step.examples = examples;
  step.loss = at::rand({});
  step.predictions = at::rand({examples, 1});
  step.labels = at::rand({examples, 1}).round();
  step.values = {{"margin", at::rand({})}};
  return step;
}

class PendingStepsTest : public testing::Test {
 protected:
  PendingStepsTest() { at::manual_seed(1); }
  std::map<std::string, double> drained() {
    std::map<std::string, double> values;
    values_.drain(&values);
    return values;
  }
  MetricSet metrics_ = *MetricSet::create({"auc", "logloss", "mean"}, {"click"});
  ReportedValues values_;
  PendingSteps pending_;
};

TEST_F(PendingStepsTest, TheSameToTheLastBitAsReadAtOnce) {
  MetricSet at_once = *MetricSet::create({"auc", "logloss", "mean"}, {"click"});
  ReportedValues values_at_once;
  for (int i = 0; i < 150; ++i) {
    const StepResult step = random_step(1 + i % 7);
    ASSERT_OK(pending_.add(step, metrics_, values_));
    ASSERT_OK(at_once.update(step));
    values_at_once.add("margin", step.values[0].value.item<double>(), Reduction::kMean);
  }
  ASSERT_OK(pending_.fold(metrics_, values_));
  EXPECT_EQ(metrics_.compute(), at_once.compute());
  std::map<std::string, double> expected;
  values_at_once.drain(&expected);
  EXPECT_EQ(drained(), expected);
}

TEST_F(PendingStepsTest, NothingIsReadUntilItIsDue) {
  StepResult step = random_step(3);
  ASSERT_OK(pending_.add(step, metrics_, values_));
  EXPECT_EQ(pending_.size(), 1);
  EXPECT_EQ(metrics_.examples(), 0);
  EXPECT_THAT(drained(), IsEmpty());
  // The values at the time of reading count, so the tensors were not copied either.
  step.loss.fill_(0.25);
  step.values[0].value.fill_(7);
  ASSERT_OK(pending_.fold(metrics_, values_));
  EXPECT_EQ(pending_.size(), 0);
  EXPECT_EQ(metrics_.compute().at("loss"), 0.25);
  EXPECT_THAT(drained(), ElementsAre(Pair("margin", 7)));
}

TEST_F(PendingStepsTest, MemoryIsBounded) {
  for (size_t i = 1; i < 3 * PendingSteps::kMost; ++i) {
    ASSERT_OK(pending_.add(random_step(2), metrics_, values_));
    EXPECT_EQ(pending_.size(), i % PendingSteps::kMost);
    EXPECT_EQ(metrics_.examples(), 2 * (i - pending_.size()));
  }
}

TEST_F(PendingStepsTest, ShapesAreCheckedAtOnce) {
  StepResult wrong = random_step(3);
  wrong.labels = at::zeros({2, 1});
  EXPECT_THAT(pending_.add(wrong, metrics_, values_), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(pending_.size(), 0);
}

TEST_F(PendingStepsTest, ARankWithoutExamplesInTheStep) {
  StepResult none = random_step(0);  // a padding micro-batch: its means are of nothing
  none.examples = 4;                 // other ranks'
  none.loss = at::scalar_tensor(0.5);
  none.values = {{"margin", at::scalar_tensor(std::nan(""))}};
  ASSERT_OK(pending_.add(none, metrics_, values_));
  none.predictions = none.labels = at::Tensor();
  ASSERT_OK(pending_.add(none, metrics_, values_));
  ASSERT_OK(pending_.fold(metrics_, values_));
  EXPECT_EQ(metrics_.compute().at("loss"), 0.5);
  EXPECT_EQ(metrics_.examples(), 8);
  EXPECT_TRUE(std::isnan(metrics_.compute().at("mean")));
  EXPECT_THAT(drained(), IsEmpty());
}

}  // namespace
}  // namespace millrace
