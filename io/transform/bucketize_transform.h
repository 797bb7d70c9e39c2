// The transform bucketize.
#ifndef MILLRACE_IO_TRANSFORM_BUCKETIZE_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_BUCKETIZE_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each number the count of boundaries that are less than or equal to it.
// REQUIRES: boundaries increase; no number is NaN.
std::unique_ptr<Transform> make_bucketize_transform(const BucketizeTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_BUCKETIZE_TRANSFORM_H_
