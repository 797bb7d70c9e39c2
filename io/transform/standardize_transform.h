// The transform standardize.
#ifndef MILLRACE_IO_TRANSFORM_STANDARDIZE_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_STANDARDIZE_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each number x the number (x - mean) / standard_deviation, in float64.
// REQUIRES: both fields are finite, standard_deviation is above 0.
std::unique_ptr<Transform> make_standardize_transform(const StandardizeTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_STANDARDIZE_TRANSFORM_H_
