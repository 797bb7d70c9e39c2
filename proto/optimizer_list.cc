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
  std::vector<PlacedSchedule> all;
  const auto add = [&all](const std::string& where, const auto& optimizer) {
    all.push_back({where + ".schedule", optimizer.schedule(), optimizer.learning_rate()});
  };
  add("train.optimizer", train.optimizer());
  add("train.sparse_optimizer", train.sparse_optimizer());
  for (int i = 0; i < train.more_optimizers_size(); ++i) {
    add(entry("train.more_optimizers", i), train.more_optimizers(i));
  }
  for (int i = 0; i < train.table_size(); ++i) {
    const TableConfig& table = train.table(i);
    add(entry("train.table", i, table.name()) + ".optimizer", table.optimizer());
  }
  return all;
}

}  // namespace millrace
