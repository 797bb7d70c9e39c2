// Transforms of numbers.
#ifndef MILLRACE_IO_TRANSFORM_NUMBER_TRANSFORMS_H_
#define MILLRACE_IO_TRANSFORM_NUMBER_TRANSFORMS_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each number the integer that equals it. A number with a fraction, or of 2^53 or more, is
// bad data. Integers stay as they are.
std::unique_ptr<Transform> make_cast_transform();

// Makes each number the nearest one in [min, max]. REQUIRES: min <= max.
std::unique_ptr<Transform> make_clip_transform(const ClipTransform& config);

// Makes each number x ln(1 + x), or -ln(1 - x) if it is below 0
// (io/transform/kernels/log1p_kernels.h).
// REQUIRES: all are finite.
std::unique_ptr<Transform> make_log1p_transform();

// Makes each number x the number (x - mean) / standard_deviation, in float64.
// REQUIRES: both fields are finite, standard_deviation is above 0.
std::unique_ptr<Transform> make_standardize_transform(const StandardizeTransform& config);

// Makes each number 1 if it is at least `at_least`, else 0. REQUIRES: no number is NaN.
std::unique_ptr<Transform> make_threshold_transform(const ThresholdTransform& config);

// Makes each number the count of boundaries that are less than or equal to it.
// REQUIRES: boundaries increase; no number is NaN.
std::unique_ptr<Transform> make_bucketize_transform(const BucketizeTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_NUMBER_TRANSFORMS_H_
