// The transform multi_hash.
#ifndef MILLRACE_IO_TRANSFORM_MULTI_HASH_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_MULTI_HASH_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each value `count` ids, for k = 0 ... count - 1
//   k × divisor + hash(value, seed + k) modulo divisor
// so that each hash function has distinct ids (Tito Svenstrup, Hansen and Winther, "Hash
// Embeddings", 2017). A value is a text, or the 8 little-endian bytes of an integer.
// REQUIRES: count >= 1, divisor >= 1, count × divisor <= 2^63.
std::unique_ptr<Transform> make_multi_hash_transform(const MultiHashTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_MULTI_HASH_TRANSFORM_H_
