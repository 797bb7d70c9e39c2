// The transform log1p.
#ifndef MILLRACE_IO_TRANSFORM_LOG1P_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_LOG1P_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"

namespace millrace {

// Makes each number x ln(1 + x), or -ln(1 - x) if it is below 0
// (io/transform/kernels/log1p_kernels.h).
// REQUIRES: all are finite.
std::unique_ptr<Transform> make_log1p_transform();

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_LOG1P_TRANSFORM_H_
