// The types of values that transforms and features take.
#ifndef MILLRACE_IO_FEATURE_VALUE_TYPES_H_
#define MILLRACE_IO_FEATURE_VALUE_TYPES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/column.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns true for features that hold ids: SPARSE, EXAMPLE_ID and GROUP_ID.
bool is_id_kind(FeatureConfig::Kind kind);

bool is_integer(ValueType type);

// Returns the type as which delimited text is read for a transform.
ValueType type_for_text(Transform::Takes takes);

// Returns the type that a transform gives. Errors: InvalidArgument beginning with `name` if it
// cannot take `in`.
absl::StatusOr<ValueType> type_after(const Transform& transform, absl::string_view name,
                                     ValueType in);

// Checks that a feature accepts the result type of the last transform.
// Errors: InvalidArgument beginning with the kind of the feature, with advice.
absl::Status check_result_type(FeatureConfig::Kind kind, ValueType type);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_VALUE_TYPES_H_
