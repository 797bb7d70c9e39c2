// Unit and totals of a schedule and its parts.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_SCOPE_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_SCOPE_H_

#include "optim/schedule/schedule_totals.h"
#include "proto/schedule.pb.h"

namespace millrace {

class ScheduleMembers;

// Passed from a schedule to the schedules that it consists of.
struct ScheduleScope {
  ScheduleConfig::Unit unit = ScheduleConfig::STEPS;
  ScheduleTotals totals;
  // Checks and creates schedules that are part of another. Borrowed; outlives all schedules.
  const ScheduleMembers* members = nullptr;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_SCOPE_H_
