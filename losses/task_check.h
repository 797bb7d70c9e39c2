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

// Returns one task for each feature of kind LABEL, in their order, each with its label: the entry
// of `tasks`, or binary cross entropy of weight 1. An entry without a label is of the only label.
// Errors: InvalidArgument with all mistakes. Each begins with `where`, the message of which `task`
// is a field: numbers out of range, an entry without a label where there are several, a label that
// is not among them (naming the nearest) or has two entries.
// So are a loss that needs groups without a feature of kind GROUP_ID, and one of any number if
// `binary_labels` says that labels must be 0 or 1.
absl::StatusOr<std::vector<TaskConfig>> tasks_of_labels(absl::string_view where,
                                                        absl::Span<const TaskConfig> tasks,
                                                        absl::Span<const FeatureConfig> features,
                                                        bool binary_labels);

// Checks TrainConfig.task. Errors: those of tasks_of_labels().
absl::Status check_tasks(absl::string_view where, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_LOSSES_TASK_CHECK_H_
