// The use of the tasks of a job by its model, its metrics and its labels.
#ifndef MILLRACE_JOB_TASK_USE_H_
#define MILLRACE_JOB_TASK_USE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/feature/label_range.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that the model reads train.task if there is an entry. Checks that no metric of
// probabilities is computed for a label whose loss predicts something else. REQUIRES: validate()
// accepted the configuration; the model is linked in.
// Errors: InvalidArgument with the entry, and the model or the metric.
absl::Status check_task_use(const TrainConfig& train);

// Returns the range of labels without an entry in label_ranges(): kBinary if train.binary_labels is
// true, kProbability for a model that computes a cross entropy, else kAny.
LabelRange label_range(const TrainConfig& train);

// Returns the range of each label whose loss determines one, by name. Empty if train.binary_labels
// is true or the model does not read train.task. REQUIRES: `train` went through expand_names.
// Errors: errors of tasks_of_labels().
absl::StatusOr<std::map<std::string, LabelRange>> label_ranges(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_JOB_TASK_USE_H_
