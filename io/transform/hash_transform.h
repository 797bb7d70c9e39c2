// The transform hash.
#ifndef MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Maps each text, or each integer as 8 little-endian bytes, to its hash as an id.
std::unique_ptr<Transform> make_hash_transform(const HashTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_
