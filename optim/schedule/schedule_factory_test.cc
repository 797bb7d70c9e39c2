#include "optim/schedule/schedule_factory.h"

#include <limits>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Schedule>> create(const std::string& text, double learning_rate) {
  return create_schedule(parse_schedule(text), learning_rate, test_totals());
}

TEST(ScheduleFactoryTest, PassesUnitRateAndTotalsOn) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Schedule> schedule,
                       create("unit: EPOCHS polynomial { length { share: 0.5 } }", 10));
  Progress progress;
  progress.step = 1000;
  progress.epoch = 2;
  EXPECT_EQ(schedule->rate(progress), 6);
}

TEST(ScheduleFactoryTest, RefusesALearningRateThatIsNone) {
  for (const double rate :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(create("constant {}", rate),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("learning_rate is")));
  }
  EXPECT_OK(create("constant {}", 0));
}

TEST(ScheduleFactoryTest, RefusesWithAllErrors) {
  EXPECT_THAT(create("unit: WINDOWS cosine { length { share: 1 } final_factor: 2 }", 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::StrEq("schedule.cosine.length: share needs the total of windows of "
                                      "training, which is not known; set max_windows or use count\n"
                                      "schedule.cosine: final_factor is 2; must be 0 to 1")));
}

}  // namespace
}  // namespace millrace
