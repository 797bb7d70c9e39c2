#include "optim/schedule/schedule_factory.h"

#include <limits>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_registry.h"
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
                       testing::AllOf(HasSubstr("schedule.cosine.length: share needs the total of "
                                                "windows of training, which is not known; "),
                                      HasSubstr("\nschedule.cosine: final_factor is 2; must be "
                                                "0 to 1"))));
}

class FollowerSchedule : public Schedule {
 public:
  using Schedule::Schedule;
  double rate_at(double) const override { return 3; }
  absl::string_view monitor() const override { return "eval/auc"; }
};
class DoubleSchedule : public Schedule {
 public:
  explicit DoubleSchedule(const ScheduleInput& input)
      : Schedule(input.unit), rate_(2 * input.learning_rate) {}
  double rate_at(double) const override { return rate_; }

 private:
  const double rate_;
};
MILLRACE_REGISTER_SCHEDULE(follower, "follows a metric",
                           [](const CustomConfig&, const ScheduleInput& input) {
                             return std::make_unique<FollowerSchedule>(input.unit);
                           });
MILLRACE_REGISTER_SCHEDULE(twice, "twice the rate",
                           [](const CustomConfig&, const ScheduleInput& input) {
                             return std::make_unique<DoubleSchedule>(input);
                           });

TEST(ScheduleFactoryTest, ARegisteredScheduleIsMadeByName) {
  ASSERT_OK_AND_ASSIGN(const auto schedule, create("unit: EPOCHS custom { name: 'twice' }", 5));
  EXPECT_EQ(schedule->rate_at(0), 10);
  EXPECT_EQ(schedule->unit(), ScheduleConfig::EPOCHS);
  EXPECT_THAT(create("custom { name: 'thrice' }", 5),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("schedule.custom: no schedule \"thrice\"")));
}

TEST(ScheduleFactoryTest, ARegisteredScheduleIsPartOfAChainUnlessItFollowsAMetric) {
  const auto chain = [](const std::string& name) {
    return "chained { part { length { count: 4 } schedule { constant {} } } part { schedule { "
           "custom { name: '" +
           name + "' } } } }";
  };
  ASSERT_OK_AND_ASSIGN(const auto schedule, create(chain("twice"), 5));
  EXPECT_EQ(schedule->rate_at(3), 5);
  EXPECT_EQ(schedule->rate_at(4), 10);
  EXPECT_THAT(create(chain("follower"), 5), StatusIs(absl::StatusCode::kInvalidArgument,
                                                     HasSubstr("\"follower\" follows a metric")));
}

}  // namespace
}  // namespace millrace
