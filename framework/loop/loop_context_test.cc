#include "framework/loop/loop_context.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace millrace {
namespace {

class LoopContextTest : public testing::Test {
 protected:
  LoopPosition position_;
  RequestQueue queue_;
  ReportedValues training_;
  std::map<std::string, Distribution> distributions_;
  LoopContext context_{
      {.rank = 1, .world_size = 2, .windowed = true, .report = {.every_steps = 10}},
      position_,
      queue_,
      {training_, distributions_}};
};

TEST_F(LoopContextTest, SaysWhatTheLoopIs) {
  EXPECT_EQ(context_.rank(), 1);
  EXPECT_EQ(context_.world_size(), 2);
  EXPECT_TRUE(context_.windowed());
  position_.progress.step = 7;
  EXPECT_EQ(context_.progress().step, 7);
  context_.requests().checkpoint();
  EXPECT_TRUE(queue_.common().has(Request::kCheckpoint));
}

TEST_F(LoopContextTest, CadencesCountFromWhereRequestsWereServed) {
  const Cadence every_2{.every_steps = 2};
  context_.begin_run(Phase::kTrain);
  position_.progress.step = 1;
  EXPECT_FALSE(context_.due(every_2));
  position_.progress.step = 2;
  EXPECT_TRUE(context_.due(every_2));
  EXPECT_TRUE(context_.due(every_2)) << "asking changes nothing";
  context_.mark_served();
  EXPECT_FALSE(context_.due(every_2));
}

TEST_F(LoopContextTest, AStepKnowsWhetherAReportFollows) {
  context_.begin_run(Phase::kTrain);
  position_.progress.step = 8;
  {
    const auto stepping = context_.stepping();
    EXPECT_FALSE(context_.report_due());
  }
  position_.progress.step = 9;
  EXPECT_FALSE(context_.report_due()) << "after step 9";
  {
    const auto stepping = context_.stepping();
    EXPECT_TRUE(context_.report_due()) << "in step 10";
  }
  position_.progress.step = 10;
  EXPECT_TRUE(context_.report_due()) << "after step 10";
  context_.mark_served();
  EXPECT_FALSE(context_.report_due());
  const auto evaluating = context_.evaluating();
  EXPECT_TRUE(context_.report_due());
}

TEST_F(LoopContextTest, DistributionsAreOfTraining) {
  context_.begin_run(Phase::kTrain);
  Distribution distribution;
  for (distribution.count = 1; distribution.count <= 2; ++distribution.count) {
    context_.report_distribution("a", distribution);
  }
  {
    const auto evaluating = context_.evaluating();
    context_.report_distribution("b", distribution);
  }
  ASSERT_EQ(distributions_.size(), 1);
  EXPECT_EQ(distributions_.at("a").count, 2);
}

TEST_F(LoopContextTest, StartAndEndAreSections) {
  const Cadence edges{.at_start = true, .at_end = true};
  EXPECT_FALSE(context_.due(edges));
  {
    const ScopedValue<bool> starting = context_.starting();
    EXPECT_TRUE(context_.due({.at_start = true}));
    EXPECT_FALSE(context_.due({.at_end = true}));
  }
  {
    const ScopedValue<bool> ending = context_.ending();
    EXPECT_TRUE(context_.due({.at_end = true}));
  }
  EXPECT_FALSE(context_.due(edges));
}

TEST_F(LoopContextTest, ValuesGoToTheReportOrToTheEvaluation) {
  context_.begin_run(Phase::kTrain);
  context_.report("a", 1, Reduction::kSum);
  {
    const ScopedValue<Phase> evaluating = context_.evaluating();
    EXPECT_EQ(context_.phase(), Phase::kEvaluate);
    context_.report("b", 2, Reduction::kSum);
  }
  EXPECT_EQ(context_.phase(), Phase::kTrain);
  std::map<std::string, double> values;
  training_.drain(&values);
  EXPECT_EQ(values, (std::map<std::string, double>{{"a", 1}}));
  context_.begin_run(Phase::kTrain);
  values.clear();
  context_.evaluation_values().drain(&values);
  EXPECT_TRUE(values.empty()) << "of the run before";
}

}  // namespace
}  // namespace millrace
