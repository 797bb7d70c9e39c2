#include "config/training_totals.h"

#include "proto/data_windows.h"

namespace millrace {

ScheduleTotals training_totals(const TrainConfig& train) {
  ScheduleTotals totals;
  if (train.max_steps() > 0) totals.steps = train.max_steps();
  if (comes_in_windows(train.train_data())) {
    if (train.max_windows() > 0) totals.windows = train.max_windows();
  } else if (train.max_epochs() > 0) {
    totals.epochs = train.max_epochs();
  }
  return totals;
}

}  // namespace millrace
