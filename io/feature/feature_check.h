// Rules of the configuration of one feature.
#ifndef MILLRACE_IO_FEATURE_FEATURE_CHECK_H_
#define MILLRACE_IO_FEATURE_FEATURE_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// All begin their messages with `where`, the place of `feature` in the configuration, and name the
// field.

// Checks that the feature has no field of another kind of feature, and checks its transforms.
// Errors: InvalidArgument.
absl::Status check_feature(absl::string_view where, const FeatureConfig& feature);

// Checks that a feature of numbers has no ids of `hash`, which are no quantities. A rule of
// training alone: models of earlier versions may have such features. Errors: InvalidArgument.
absl::Status check_numbers(absl::string_view where, const FeatureConfig& feature);

// Checks that each `cross` names a feature of `sparse`, the preceding SPARSE features.
// Errors: InvalidArgument.
absl::Status check_crosses(absl::string_view where, const FeatureConfig& feature,
                           const std::vector<std::string>& sparse);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_FEATURE_CHECK_H_
