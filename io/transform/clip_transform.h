// The transform clip.
#ifndef MILLRACE_IO_TRANSFORM_CLIP_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_CLIP_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each number the nearest one in [min, max]. REQUIRES: min <= max.
std::unique_ptr<Transform> make_clip_transform(const ClipTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_CLIP_TRANSFORM_H_
