#include "optim/dense/optimizer_schedule.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "proto/schedule.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(OptimizerScheduleTest, IsConstantWithoutAKind) {
  ASSERT_OK_AND_ASSIGN(const auto schedule, create_optimizer_schedule({}, 0.3, {}));
  EXPECT_EQ(schedule->rate_at(0), 0.3);
  EXPECT_EQ(schedule->rate_at(1e9), 0.3);
}

TEST(OptimizerScheduleTest, RefusesWhatWouldDoNothing) {
  ScheduleConfig config;
  config.set_unit(ScheduleConfig::EPOCHS);
  EXPECT_THAT(check_optimizer_schedule("here", config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("here: unit is set")));
  EXPECT_FALSE(create_optimizer_schedule(config, 0.3, {}).ok());
}

}  // namespace
}  // namespace millrace
