// The transform threshold.
#ifndef MILLRACE_IO_TRANSFORM_THRESHOLD_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_THRESHOLD_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each number 1 if it is at least `at_least`, else 0. REQUIRES: no number is NaN.
std::unique_ptr<Transform> make_threshold_transform(const ThresholdTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_THRESHOLD_TRANSFORM_H_
