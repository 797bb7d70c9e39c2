// Labels that the losses of a job accept.
#ifndef MILLRACE_JOB_LABEL_RANGES_H_
#define MILLRACE_JOB_LABEL_RANGES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "io/feature/label_range.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the range of labels without an entry in label_ranges(): kBinary if train.binary_labels is
// true, kProbability for a model that computes a cross entropy, else kAny.
LabelRange label_range(const TrainConfig& train);

// Returns the range of each label whose loss determines one, by name. Empty if train.binary_labels
// is true or the model does not read train.task. REQUIRES: `train` went through expand_names.
// Errors: errors of tasks_of_labels().
absl::StatusOr<std::map<std::string, LabelRange>> label_ranges(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_JOB_LABEL_RANGES_H_
