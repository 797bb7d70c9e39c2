// Checks that tasks fit the model and the metrics of a job.
#ifndef MILLRACE_JOB_TASK_USE_CHECK_H_
#define MILLRACE_JOB_TASK_USE_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that the model reads train.task if there is an entry. Checks that no metric of
// probabilities is computed for a label whose loss predicts something else. REQUIRES: validate()
// accepted the configuration; the model is linked in.
// Errors: InvalidArgument with the entry, and the model or the metric.
absl::Status check_task_use(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_JOB_TASK_USE_CHECK_H_
