// The size of training: micro-batches of a step, steps of an epoch, and totals of a run.
#ifndef MILLRACE_CONFIG_TRAINING_SIZE_H_
#define MILLRACE_CONFIG_TRAINING_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optim/schedule/schedule.h"
#include "proto/config.pb.h"

namespace millrace {

// The examples of one rank for a step.
struct StepSize {
  int64_t batch_size = 0;     // examples of a micro-batch
  int64_t micro_batches = 1;  // of a step
  friend bool operator==(const StepSize&, const StepSize&) = default;
};

// Checks global_batch_size and max_micro_batch_size as far as they do not depend on the number of
// ranks. Errors: InvalidArgument that begins with `where`, the place of `train`.
absl::Status check_step_size(absl::string_view where, const TrainConfig& train);

// Returns the micro-batches of each rank. Without global_batch_size they are as configured.
// Otherwise each of `ranks` ranks reads an equal share of global_batch_size, in the least number of
// micro-batches of one size that max_micro_batch_size allows.
// Errors: InvalidArgument if the ranks do not divide global_batch_size, or if the share of a rank
// divides only into micro-batches below half of the largest possible size.
absl::StatusOr<StepSize> step_size(const TrainConfig& train, int64_t ranks);

// What training has in an epoch, over all ranks.
struct EpochSize {
  int64_t steps = 0;
  int64_t examples = 0;  // of these steps
  friend bool operator==(const EpochSize&, const EpochSize&) = default;
};

// Returns the size of an epoch of `examples` examples, which `ranks` ranks share equally, in steps
// of a size: what remains of an epoch according to drop_remainder, uneven_data and
// max_steps_per_epoch. A split or sample over several ranks may give a rank more than its share,
// and an epoch then has more steps.
EpochSize epoch_size(const TrainConfig& train, const StepSize& step, int64_t ranks,
                     int64_t examples);

// Returns max_steps, max_epochs and max_windows where they limit training. Data in windows has no
// epochs. The totals are counted_at_start if max_epochs limits training on files and max_steps does
// not. A job with several limits ends at the first one; schedules count in the total of their own
// unit.
ScheduleTotals training_totals(const TrainConfig& train);

// Returns true if the totals are counted_at_start and a schedule has a share of steps or examples.
bool needs_epoch_size(const TrainConfig& train);

// Returns the path of a cadence with every_share; "": none has.
std::string find_cadence_share(const JobConfig& config);

// Returns training_totals() with the steps and examples of max_epochs epochs of a size. They stay
// absent if they exceed an int64. REQUIRES: the totals are counted_at_start.
ScheduleTotals training_totals(const TrainConfig& train, const EpochSize& epoch);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_TRAINING_SIZE_H_
