// The transform cross.
#ifndef MILLRACE_IO_TRANSFORM_CROSS_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_CROSS_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes of the ids of a row one id for each id a of the row with each id b of the same row of
// another feature, a's first one first:
//   XXH3(8 little-endian bytes of a, 8 of b; seed)
// with their weights multiplied. The other feature is FeatureInput::crossed[number].
std::unique_ptr<Transform> make_cross_transform(const CrossTransform& config, size_t number);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_CROSS_TRANSFORM_H_
