#include "proto/optimizer_list.h"

#include "proto/field_check.h"

namespace millrace {

std::vector<DenseOptimizerConfig> dense_optimizers_of(const TrainConfig& train) {
  std::vector<DenseOptimizerConfig> all(train.more_optimizers().begin(),
                                        train.more_optimizers().end());
  all.push_back(train.optimizer());
  return all;
}

std::vector<PlacedSchedule> schedules_of(const TrainConfig& train) {
  std::vector<PlacedSchedule> all = {
      {"train.optimizer.schedule", train.optimizer().schedule()},
      {"train.sparse_optimizer.schedule", train.sparse_optimizer().schedule()},
  };
  for (int i = 0; i < train.more_optimizers_size(); ++i) {
    all.push_back(
        {entry("train.more_optimizers", i) + ".schedule", train.more_optimizers(i).schedule()});
  }
  for (int i = 0; i < train.table_size(); ++i) {
    const TableConfig& table = train.table(i);
    all.push_back({entry("train.table", i, table.name()) + ".optimizer.schedule",
                   table.optimizer().schedule()});
  }
  return all;
}

}  // namespace millrace
