#include "optim/schedule/schedule_check.h"

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(ScheduleCheckTest, ReturnsEveryErrorWithItsPlace) {
  const ScheduleConfig config = parse_schedule(
      "chained { part { length { share: 0.5 } schedule { step { gamma: 3 } } } "
      "part { schedule { myle {} } } }");
  const std::vector<absl::Status> errors = schedule_errors("train.optimizer.schedule", config, {});
  ASSERT_EQ(errors.size(), 4);
  for (const absl::Status& error : errors) {
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument,
                                testing::StartsWith("train.optimizer.schedule.chained.part[")));
  }
  EXPECT_THAT(check_schedule("train.optimizer.schedule", config, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(testing::HasSubstr("set max_steps"),
                                      testing::HasSubstr("gamma is 3"))));
}

TEST(ScheduleCheckTest, AcceptsTheEndsOfEveryRange) {
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
