#include "io/feature/value_types.h"

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

absl::string_view needs(Transform::Takes takes) {
  switch (takes) {
    case Transform::Takes::kTextOrIntegers: return "text or integers";
    case Transform::Takes::kIntegers: return "integers";
    case Transform::Takes::kNumbers: return "numbers";
    case Transform::Takes::kAny: break;
  }
  return "values";
}

bool fits(ValueType type, Transform::Takes takes) {
  switch (takes) {
    case Transform::Takes::kTextOrIntegers: return type == ValueType::kString || is_integer(type);
    case Transform::Takes::kIntegers: return is_integer(type);
    case Transform::Takes::kNumbers: return type != ValueType::kString;
    case Transform::Takes::kAny: break;
  }
  return true;
}

// Returns what to do about ids that are not integers.
absl::string_view advice_for_ids(ValueType type) {
  if (type == ValueType::kString) return "; add the transform hash";
  return "; add the transform cast if they are ids stored as numbers, as pandas stores ids with "
         "nulls, or bucketize to make ids of ranges";
}

}  // namespace

bool is_id_kind(FeatureConfig::Kind kind) {
  return kind == FeatureConfig::SPARSE || kind == FeatureConfig::EXAMPLE_ID ||
         kind == FeatureConfig::GROUP_ID;
}

bool is_integer(ValueType type) { return type == ValueType::kInt64 || type == ValueType::kUint64; }

ValueType type_for_text(Transform::Takes takes) {
  switch (takes) {
    case Transform::Takes::kTextOrIntegers:
    case Transform::Takes::kAny: return ValueType::kString;
    case Transform::Takes::kIntegers: return ValueType::kInt64;
    case Transform::Takes::kNumbers: break;
  }
  return ValueType::kDouble;
}

absl::StatusOr<ValueType> type_after(const Transform& transform, absl::string_view name,
                                     ValueType in) {
  if (fits(in, transform.takes())) return transform.gives(in);
  const bool wants_cast = in == ValueType::kDouble;
  return absl::InvalidArgumentError(absl::StrCat(
      name, " needs ", needs(transform.takes()), " and gets ", describe(in),
      wants_cast ? "; if they are ids stored as numbers, put the transform cast before it" : ""));
}

absl::Status check_result_type(FeatureConfig::Kind kind, ValueType type) {
  if (is_id_kind(kind) && !is_integer(type)) {
    return absl::InvalidArgumentError(absl::StrCat(FeatureConfig::Kind_Name(kind),
                                                   " needs integers and gets ", describe(type),
                                                   advice_for_ids(type)));
  }
  if (!is_id_kind(kind) && type == ValueType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(FeatureConfig::Kind_Name(kind), " needs numbers and gets text"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
