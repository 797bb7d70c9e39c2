// The transform truncate.
#ifndef MILLRACE_IO_TRANSFORM_TRUNCATE_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_TRUNCATE_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Keeps only the first or last `count` ids of each row. REQUIRES: count >= 1.
std::unique_ptr<Transform> make_truncate_transform(const TruncateTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_TRUNCATE_TRANSFORM_H_
