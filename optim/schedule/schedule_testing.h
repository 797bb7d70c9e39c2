// Helpers for tests of schedules.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_

#include <memory>
#include <string>

#include "optim/schedule/schedule.h"
#include "proto/schedule.pb.h"

namespace millrace {

// 10,000 steps, 10 epochs; the totals of examples and windows are not known.
ScheduleTotals test_totals();

// Returns `text` parsed. A text that cannot be parsed fails the test.
ScheduleConfig parse_schedule(const std::string& text);

// Returns the schedule of `text`, a ScheduleConfig. One that cannot be created fails the test.
std::unique_ptr<Schedule> make_schedule(const std::string& text, double learning_rate = 1);

// Returns all errors of `text`, one a line; "" without an error. The place of the schedule is `s`.
std::string errors_of_schedule(const std::string& text);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_
