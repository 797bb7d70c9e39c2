// The transform is_missing.
#ifndef MILLRACE_IO_TRANSFORM_MISSING_IS_MISSING_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_MISSING_IS_MISSING_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"

namespace millrace {

// Makes one integer of each row, without a weight: 1 if the row has no value, else 0. Takes values
// of any type and does not read them.
std::unique_ptr<Transform> make_is_missing_transform();

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_MISSING_IS_MISSING_TRANSFORM_H_
