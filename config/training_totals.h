// The length of training, as far as the configuration determines it.
#ifndef MILLRACE_CONFIG_TRAINING_TOTALS_H_
#define MILLRACE_CONFIG_TRAINING_TOTALS_H_

#include "optim/schedule/schedule_totals.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns max_steps, max_epochs and max_windows where they limit training. Data in windows has no
// epochs. The number of examples is never known. A job with several limits ends at the first one;
// schedules count in the total of their own unit.
ScheduleTotals training_totals(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_TRAINING_TOTALS_H_
