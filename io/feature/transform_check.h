// Rules of the configuration of one transform.
#ifndef MILLRACE_IO_FEATURE_TRANSFORM_CHECK_H_
#define MILLRACE_IO_FEATURE_TRANSFORM_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the name of the transform as the configuration writes it; "transform" if none is chosen.
absl::string_view transform_name(const TransformConfig& transform);

// Checks the parameters of a transform. `where` is the place of `transform` in the configuration
// and begins every message.
// Errors: InvalidArgument naming the field that is missing or out of range.
absl::Status check_transform(absl::string_view where, const TransformConfig& transform);

// Checks the places of missing_values, which must be first, and is_missing, which may only come
// after missing_values. `where` is the place of `feature` in the configuration.
// Errors: InvalidArgument naming the transform that must be elsewhere.
absl::Status check_transform_order(absl::string_view where, const FeatureConfig& feature);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_TRANSFORM_CHECK_H_
