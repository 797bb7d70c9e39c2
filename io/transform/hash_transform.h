// The transform hash.
#ifndef MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each text, or each integer by its 8 little-endian bytes, the id that is its hash.
std::unique_ptr<Transform> make_hash_transform(const HashTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_HASH_TRANSFORM_H_
