#include "optim/schedule/schedule_testing.h"

#include <google/protobuf/text_format.h>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_registry.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {

ScheduleTotals test_totals() {
  ScheduleTotals totals;
  totals.steps = 10000;
  totals.epochs = 10;
  return totals;
}

ScheduleConfig parse_schedule(const std::string& text) {
  ScheduleConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

std::unique_ptr<Schedule> make_schedule(const std::string& text, double learning_rate) {
  absl::StatusOr<std::unique_ptr<Schedule>> schedule =
      create_schedule(parse_schedule(text), learning_rate, test_totals());
  EXPECT_OK(schedule) << text;
  return std::move(schedule).value();
}

std::string errors_of_schedule(const std::string& text) {
  const ScheduleConfig config = parse_schedule(text);
  return std::string(
      all_errors({check_schedule("s", config, test_totals()), check_ranges("s", config)})
          .message());
}

}  // namespace millrace
