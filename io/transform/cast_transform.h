// The transform cast.
#ifndef MILLRACE_IO_TRANSFORM_CAST_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_CAST_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"

namespace millrace {

// Makes each number the integer that equals it. A number with a fraction, or of 2^53 or more, is
// bad data. Integers stay as they are.
std::unique_ptr<Transform> make_cast_transform();

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_CAST_TRANSFORM_H_
