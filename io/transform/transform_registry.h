// Transforms from outside, by name.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_

#include <functional>
#include <memory>
#include <source_location>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Makes a transform. `config` has the extension that the part reads.
using TransformFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transform>>(const CustomConfig& config)>;

// Returns the registry of transforms, which also has the names of the built-in kinds.
CustomRegistry<TransformFactory>& transform_registry();

// Adds a transform. Called during static initialization by MILLRACE_REGISTER_TRANSFORM.
bool register_transform(absl::string_view name, absl::string_view description,
                        TransformFactory factory,
                        std::source_location place = std::source_location::current());

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_TRANSFORM(square_root, "square root of numbers",
//   &SquareRootTransform::create);
#define MILLRACE_REGISTER_TRANSFORM(name, description, factory)     \
  [[maybe_unused]] static const bool millrace_transform_##name##_ = \
      ::millrace::register_transform(#name, (description), (factory))

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
