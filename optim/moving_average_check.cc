#include "optim/moving_average_check.h"

#include <algorithm>

#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_moving_average_of(const TrainConfig& train) {
  if (!train.has_moving_average()) return absl::OkStatus();
  RETURN_IF_ERROR(check_ranges("train.moving_average", train.moving_average()));
  const auto& more = train.more_optimizers();
  const bool all_frozen =
      train.optimizer().frozen() &&
      std::all_of(more.begin(), more.end(),
                  [](const DenseOptimizerConfig& optimizer) { return optimizer.frozen(); });
  if (!all_frozen) return absl::OkStatus();
  return wrong("train.moving_average",
               "all dense parameters are frozen (optimizer, more_optimizers), so that there is "
               "nothing to average; remove it or frozen");
}

}  // namespace millrace
