// All optimizers and schedules of a job.
#ifndef MILLRACE_PROTO_OPTIMIZER_LIST_H_
#define MILLRACE_PROTO_OPTIMIZER_LIST_H_

#include <string>
#include <vector>

#include "proto/config.pb.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Returns the dense optimizers in the order in which they take parameters: more_optimizers, then
// `optimizer`.
std::vector<DenseOptimizerConfig> dense_optimizers_of(const TrainConfig& train);

struct PlacedSchedule {
  std::string where;        // train.optimizer.schedule
  ScheduleConfig schedule;  // may have no kind
  double learning_rate = 0;
};

// Returns the schedules of dense optimizers, of the sparse optimizer and of each table.
std::vector<PlacedSchedule> schedules_of(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_PROTO_OPTIMIZER_LIST_H_
