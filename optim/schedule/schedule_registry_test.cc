#include "optim/schedule/schedule_registry.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Schedule>> create(const std::string& text, double learning_rate) {
  return create_schedule(parse_schedule(text), learning_rate, test_totals());
}

TEST(ScheduleRegistryTest, PassesUnitRateAndTotalsOn) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Schedule> schedule,
                       create("unit: EPOCHS polynomial { length { share: 0.5 } }", 10));
  Progress progress;
  progress.step = 1000;
  progress.epoch = 2;
  EXPECT_EQ(schedule->rate(progress), 6);
}

TEST(ScheduleRegistryTest, RefusesALearningRateThatIsNone) {
  for (const double rate :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(create("constant {}", rate),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("learning_rate is")));
  }
  EXPECT_OK(create("constant {}", 0));
}

TEST(ScheduleRegistryTest, RefusesWithAllErrors) {
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

TEST(ScheduleRegistryTest, ARegisteredScheduleIsMadeByName) {
  ASSERT_OK_AND_ASSIGN(const auto schedule, create("unit: EPOCHS custom { name: 'twice' }", 5));
  EXPECT_EQ(schedule->rate_at(0), 10);
  EXPECT_EQ(schedule->unit(), ScheduleConfig::EPOCHS);
  EXPECT_THAT(create("custom { name: 'thrice' }", 5),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("schedule.custom: no schedule \"thrice\"")));
}

TEST(ScheduleRegistryTest, ARegisteredScheduleIsPartOfAChainUnlessItFollowsAMetric) {
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

TEST(ScheduleRegistryTest, ReturnsEveryErrorWithItsPlace) {
  const ScheduleConfig config = parse_schedule(
      "chained { part { length { share: 0.5 } schedule { step {} } } "
      "part { schedule { myle {} } } }");
  const absl::Status status = check_schedule("train.optimizer.schedule", config, {});
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("set max_steps"), HasSubstr("step.length: is"))));
  const std::vector<std::string> errors = absl::StrSplit(status.message(), '\n');
  EXPECT_EQ(errors.size(), 3);
  EXPECT_THAT(errors, testing::Each(testing::StartsWith("train.optimizer.schedule.chained.part[")));
}

TEST(ScheduleRegistryTest, AcceptsTheEndsOfEveryRange) {
  for (const char* text : {
           "constant { factor: 0 }",
           "linear_warmup { start_factor: 1 length { share: 1 } }",
           "step { length { count: 1 } gamma: 1 }",
           "multi_step { milestone { count: 0 } milestone { count: 0 } }",
           "exponential { gamma: 1e-300 }",
           "cosine { length { count: 2 } warmup { length { count: 1 } } final_factor: 1 "
           "cycle_multiplier: 1000 cycle_decay: 1e-300 }",
           "polynomial { length { count: 1 } warmup { length { count: 0 } } power: 1e-300 }",
           "inverse_square_root { warmup_length { count: 0 } }",
           "myle { warmup { length { count: 1 } start_factor: 1 } }",
           "tri_stage { length { count: 1 } warmup_ratio: 0.99 start_factor: 0 final_factor: 1 }",
           "chained { part { schedule { constant {} } } }",
           "reduce_on_plateau { monitor: \"train/loss\" patience: 0 threshold: 0 epsilon: 0 }",
       }) {
    EXPECT_EQ(errors_of_schedule(text), "") << text;
  }
}

}  // namespace
}  // namespace millrace
