#include "config/training_totals.h"

#include <limits>
#include <set>

#include "proto/config_fingerprint.h"
#include "proto/data_windows.h"

namespace millrace {

ScheduleTotals training_totals(const TrainConfig& train) {
  ScheduleTotals totals;
  if (train.max_steps() > 0) totals.steps = train.max_steps();
  if (comes_in_windows(train.train_data())) {
    if (train.max_windows() > 0) totals.windows = train.max_windows();
  } else if (train.max_epochs() > 0) {
    totals.epochs = train.max_epochs();
    totals.counted_at_start = train.max_steps() == 0 && !train.train_data().has_mix() &&
                              !train.train_data().has_custom_dataset();
  }
  return totals;
}

bool needs_epoch_size(const TrainConfig& train) {
  const std::set<ScheduleConfig::Unit> units = units_of_shares(train);
  return training_totals(train).counted_at_start &&
         (units.count(ScheduleConfig::STEPS) > 0 || units.count(ScheduleConfig::EXAMPLES) > 0);
}

ScheduleTotals training_totals(const TrainConfig& train, const EpochSize& epoch) {
  ScheduleTotals totals = training_totals(train);
  totals.counted_at_start = false;
  const int64_t most = std::numeric_limits<int64_t>::max() / train.max_epochs();
  if (epoch.steps > most || epoch.examples > most) return totals;
  totals.steps = epoch.steps * train.max_epochs();
  totals.examples = epoch.examples * train.max_epochs();
  return totals;
}

}  // namespace millrace
