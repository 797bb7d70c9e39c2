// The transform modulo.
#ifndef MILLRACE_IO_TRANSFORM_MODULO_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_MODULO_TRANSFORM_H_

#include <memory>

#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes each id its remainder: the id taken as unsigned, modulo the divisor.
// REQUIRES: the divisor is at least 1.
std::unique_ptr<Transform> make_modulo_transform(const ModuloTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_MODULO_TRANSFORM_H_
