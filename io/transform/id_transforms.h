// Transforms of ids and of lists of ids.
#ifndef MILLRACE_IO_TRANSFORM_ID_TRANSFORMS_H_
#define MILLRACE_IO_TRANSFORM_ID_TRANSFORMS_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes of the ids of a row one id for each id a of the row with each id b of the same row of
// another feature, a's first one first:
//   XXH3(8 little-endian bytes of a, 8 of b; seed)
// with their weights multiplied. The other feature is FeatureInput::crossed[number].
std::unique_ptr<Transform> make_cross_transform(const CrossTransform& config, size_t number);

// Maps each text, or each integer as 8 little-endian bytes, to its hash as an id.
std::unique_ptr<Transform> make_hash_transform(const HashTransform& config);

// Makes each id its remainder: the id taken as unsigned, modulo the divisor.
// REQUIRES: the divisor is at least 1.
std::unique_ptr<Transform> make_modulo_transform(const ModuloTransform& config);

// Makes each value `count` ids, for k = 0 ... count - 1
//   k × divisor + hash(value, seed + k) modulo divisor
// so that each hash function has distinct ids (Tito Svenstrup, Hansen and Winther, "Hash
// Embeddings", 2017). A value is a text, or the 8 little-endian bytes of an integer.
// REQUIRES: count >= 1, divisor >= 1, count × divisor <= 2^63.
std::unique_ptr<Transform> make_multi_hash_transform(const MultiHashTransform& config);

// Keeps only the first or last `count` ids of each row. REQUIRES: count >= 1.
std::unique_ptr<Transform> make_truncate_transform(const TruncateTransform& config);

// Keeps the first of equal ids of a row, with the sum of their weights if the ids have weights.
std::unique_ptr<Transform> make_unique_transform();

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_ID_TRANSFORMS_H_
