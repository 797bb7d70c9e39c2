// Transforms by their configuration.
#ifndef MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
#define MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

// Makes a transform. `config` has the extension that the part reads.
using TransformFactory =
    std::function<absl::StatusOr<std::unique_ptr<Transform>>(const CustomConfig& config)>;

// Built-in kinds are also made with the number of `cross` transforms before them.
using TransformRegistry =
    KindRegistry<TransformConfig, TransformFactory, KindCheck<TransformConfig>, size_t>;

// Returns the registry of transforms, which also has the built-in kinds.
TransformRegistry& transform_registry();

// Checks the parameters of a transform. `where` is the place of `config` in the configuration and
// begins every message. Errors: InvalidArgument naming the field that is missing or out of range.
absl::Status check_transform(absl::string_view where, const TransformConfig& config);

// Makes a transform; the caller prepares it. `crosses_before`: the number of `cross` transforms
// before this one of the same feature. REQUIRES: check_transform() accepts
// the configuration. Errors: as transform_registry().create(); InvalidArgument for
// missing_values, which changes the column before the first Transform (MissingValues,
// io/transform/missing_values.h).
absl::StatusOr<std::unique_ptr<Transform>> create_transform(const TransformConfig& config,
                                                            size_t crosses_before);

// Returns the paths of the files that a transform reads (Transform::files), without reading any.
// Other kinds than `vocabulary` and `custom` read none and are not made.
// Errors and REQUIRES: as create_transform.
absl::StatusOr<std::vector<std::string>> files_of_transform(const TransformConfig& config);

}  // namespace millrace

// Use at namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_TRANSFORM(square_root, "square root of numbers",
//   &SquareRootTransform::create);
#define MILLRACE_REGISTER_TRANSFORM(name, description, factory) \
  MILLRACE_REGISTER_PART(transform, name, #name, description, factory)

#endif  // MILLRACE_IO_TRANSFORM_TRANSFORM_REGISTRY_H_
