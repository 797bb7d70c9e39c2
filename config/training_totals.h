// The length of training, as far as the configuration determines it.
#ifndef MILLRACE_CONFIG_TRAINING_TOTALS_H_
#define MILLRACE_CONFIG_TRAINING_TOTALS_H_

#include "config/step_size.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns max_steps, max_epochs and max_windows where they limit training. Data in windows has no
// epochs. The totals are counted_at_start if max_epochs limits training on files and max_steps does
// not. A job with several limits ends at the first one; schedules count in the total of their own
// unit.
ScheduleTotals training_totals(const TrainConfig& train);

// Returns true if the totals are counted_at_start and a schedule has a share of steps or examples.
bool needs_epoch_size(const TrainConfig& train);

// Returns training_totals() with the steps and examples of max_epochs epochs of a size. They stay
// absent if they exceed an int64. REQUIRES: needs_epoch_size().
ScheduleTotals training_totals(const TrainConfig& train, const EpochSize& epoch);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_TRAINING_TOTALS_H_
