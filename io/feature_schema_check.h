// Rules of the features of a job as a whole.
#ifndef MILLRACE_IO_FEATURE_SCHEMA_CHECK_H_
#define MILLRACE_IO_FEATURE_SCHEMA_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that names of features are unique, at least 1 feature is of kind LABEL, and at most 1 each
// is of kind WEIGHT, EXAMPLE_ID and GROUP_ID. Errors: InvalidArgument that begins with `where`, the
// place of `train` in the configuration, and names the feature.
absl::Status check_feature_schema(absl::string_view where, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SCHEMA_CHECK_H_
