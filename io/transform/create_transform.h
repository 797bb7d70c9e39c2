// Every transform that a configuration can name.
#ifndef MILLRACE_IO_TRANSFORM_CREATE_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_CREATE_TRANSFORM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes a transform; the caller prepares it. `crosses_before`: the number of `cross` transforms
// before this one of the same feature. REQUIRES: check_transform (io/feature/transform_check.h)
// accepts the configuration. Errors: as transform_registry().create(); InvalidArgument for
// missing_values, which changes the column before the first Transform (MissingValues,
// io/transform/missing_values.h).
absl::StatusOr<std::unique_ptr<Transform>> create_transform(const TransformConfig& config,
                                                            size_t crosses_before);

// Returns the paths of the files that a transform reads (Transform::files), without reading any.
// Other kinds than `vocabulary` and `custom` read none and are not made.
// Errors and REQUIRES: as create_transform.
absl::StatusOr<std::vector<std::string>> files_of_transform(const TransformConfig& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_CREATE_TRANSFORM_H_
