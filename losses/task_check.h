// Checks of train.task.
#ifndef MILLRACE_LOSSES_TASK_CHECK_H_
#define MILLRACE_LOSSES_TASK_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns one task for each feature of kind LABEL, in the order of the features, with the label
// set: the entry of `tasks`, or binary cross entropy of weight 1. An entry without a label belongs
// to the only label. Errors: InvalidArgument with all mistakes, each of which begins with `where`,
// the message with the field `task`: a number out of range; an entry without a label if there are
// several labels; an unknown label (naming the nearest) or two entries for one label; a loss that
// needs groups without a feature of kind GROUP_ID; a loss of arbitrary numbers if `binary_labels`
// restricts labels to 0 and 1.
absl::StatusOr<std::vector<TaskConfig>> tasks_of_labels(absl::string_view where,
                                                        absl::Span<const TaskConfig> tasks,
                                                        absl::Span<const FeatureConfig> features,
                                                        bool binary_labels);

// Checks TrainConfig.task. Errors: as tasks_of_labels().
absl::Status check_tasks(absl::string_view where, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_TASK_CHECK_H_
