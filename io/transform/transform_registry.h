// Transforms from outside, by name.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Makes a transform. `config` has the extension that the part reads.
using TransformFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transform>>(const CustomConfig& config)>;

// Returns the registry of transforms, which also has the names of the built-in kinds.
CustomRegistry<TransformFactory>& transform_registry();

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_TRANSFORM(square_root, "square root of numbers",
//   &SquareRootTransform::create);
#define MILLRACE_REGISTER_TRANSFORM(name, description, factory) \
  MILLRACE_REGISTER_PART(transform, name, #name, description, factory)

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
