// The transform unique.
#ifndef MILLRACE_IO_TRANSFORM_UNIQUE_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_UNIQUE_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"

namespace millrace {

// Keeps the first of equal ids of a row, with the sum of their weights if the ids have weights.
std::unique_ptr<Transform> make_unique_transform();

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_UNIQUE_TRANSFORM_H_
