// The kinds of schedules of this repository.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TABLE_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TABLE_H_

#include "optim/schedule/schedule_members.h"

namespace millrace {

// Returns one member for each kind of ScheduleConfig. Valid forever; safe for concurrent use.
const ScheduleMembers& schedule_table();

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_TABLE_H_
