// Helpers for tests of schedules.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_

#include <memory>
#include <string>

#include "optim/schedule/schedule.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns 10,000 steps and 10 epochs; the totals of examples and windows are absent.
ScheduleTotals test_totals();

// Parses `text`. Fails the test if `text` cannot be parsed.
ScheduleConfig parse_schedule(const std::string& text);

// Creates the schedule of `text`, a ScheduleConfig. Fails the test if the creation fails.
std::unique_ptr<Schedule> make_schedule(const std::string& text, double learning_rate = 1);

// Returns all errors of `text`, one a line; "" without an error. The place of the schedule is `s`.
std::string errors_of_schedule(const std::string& text);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TESTING_H_
