#include "io/feature/feature_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/transform/transform_registry.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

absl::Status check_no_list_transforms(absl::string_view where, const FeatureConfig& feature) {
  for (int i = 0; i < feature.transform_size(); ++i) {
    const TransformConfig& transform = feature.transform(i);
    if (!transform.has_multi_hash() && !transform.has_cross() && !transform.has_truncate() &&
        !transform.has_unique()) {
      continue;
    }
    return wrong(entry(absl::StrCat(where, ".transform"), i),
                 absl::StrCat("is for lists of ids, which a ",
                              FeatureConfig::Kind_Name(feature.kind()), " feature has not"));
  }
  return absl::OkStatus();
}

// Checks the places of missing_values, which must be first, and is_missing, which may only come
// after missing_values.
absl::Status check_transform_order(absl::string_view where, const FeatureConfig& feature) {
  const std::string list = absl::StrCat(where, ".transform");
  for (int i = 1; i < feature.transform_size(); ++i) {
    const TransformConfig& transform = feature.transform(i);
    const std::string place =
        absl::StrCat(entry(list, i), ".", transform_registry().kind(transform));
    if (transform.has_missing_values()) return wrong(place, "must be the first transform");
    const bool is_early = i == 1 && feature.transform(0).has_missing_values();
    if (transform.has_is_missing() && !is_early) {
      return wrong(place, "must be the first transform, or the second after missing_values");
    }
  }
  return absl::OkStatus();
}

// is_missing gives every row one value, without a weight.
absl::Status check_is_missing(absl::string_view where, const FeatureConfig& feature) {
  for (int i = 0; i < feature.transform_size(); ++i) {
    if (!feature.transform(i).has_is_missing()) continue;
    if (feature.missing() == FeatureConfig::MASK) {
      return wrong(where,
                   "missing is MASK, but with is_missing no label is missing; leave one out");
    }
    if (feature.has_weight_column()) {
      return wrong(where, "weight_column is set, but what is_missing gives has no weight");
    }
  }
  return absl::OkStatus();
}

// Checks the fields that only some kinds of feature have.
absl::Status check_kind(absl::string_view where, const FeatureConfig& feature) {
  const std::string kind = FeatureConfig::Kind_Name(feature.kind());
  const bool sparse = feature.kind() == FeatureConfig::SPARSE;
  const bool ids = sparse || feature.kind() == FeatureConfig::EXAMPLE_ID ||
                   feature.kind() == FeatureConfig::GROUP_ID;
  if (!sparse && feature.has_table()) {
    return wrong(where, absl::StrCat("table is set, but a ", kind, " feature looks up none"));
  }
  if (!sparse && feature.pooling() != SUM) {
    return wrong(where, absl::StrCat("pooling is chosen, but a ", kind, " feature has none"));
  }
  if (!sparse && feature.max_ids() != 0) {
    return wrong(where, absl::StrCat("max_ids is set, but a ", kind, " feature has no lists"));
  }
  if (!sparse && feature.has_weight_column()) {
    return wrong(where, absl::StrCat("weight_column is set, but a ", kind, " feature has no ids"));
  }
  if (!sparse) RETURN_IF_ERROR(check_no_list_transforms(where, feature));
  if (feature.missing() == FeatureConfig::MASK) {
    if (feature.kind() != FeatureConfig::LABEL) {
      return wrong(where, absl::StrCat("missing is MASK, which is for labels, not for a ", kind,
                                       " feature"));
    }
    if (feature.has_default_value()) {
      return wrong(where,
                   "missing is MASK, so that a missing label counts nowhere, but default_value is "
                   "set too; leave one out");
    }
  }
  if (ids && feature.has_default_value()) {
    return wrong(where, absl::StrCat("default_value is set, but a ", kind,
                                     " feature holds ids; write default_id"));
  }
  if (!ids && feature.has_default_id()) {
    return wrong(where, absl::StrCat("default_id is set, but a ", kind,
                                     " feature holds numbers; write default_value"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_feature(absl::string_view where, const FeatureConfig& feature) {
  RETURN_IF_ERROR(check_kind(where, feature));
  for (int i = 0; i < feature.transform_size(); ++i) {
    RETURN_IF_ERROR(
        check_transform(entry(absl::StrCat(where, ".transform"), i), feature.transform(i)));
  }
  RETURN_IF_ERROR(check_transform_order(where, feature));
  return check_is_missing(where, feature);
}

absl::Status check_numbers(absl::string_view where, const FeatureConfig& feature) {
  const bool ids =
      feature.kind() == FeatureConfig::SPARSE || feature.kind() == FeatureConfig::GROUP_ID;
  if (ids) return absl::OkStatus();
  int hash = -1;
  for (int i = 0; i < feature.transform_size(); ++i) {
    const TransformConfig& transform = feature.transform(i);
    if (transform.has_hash()) hash = i;
    // These make quantities of ids: a few classes.
    if (transform.has_modulo() || transform.has_bucketize()) hash = -1;
  }
  if (hash < 0) return absl::OkStatus();
  return wrong(entry(absl::StrCat(where, ".transform"), hash),
               absl::StrCat("hash gives ids, but a ", FeatureConfig::Kind_Name(feature.kind()),
                            " feature holds numbers; leave it out, or set kind: SPARSE"));
}

absl::Status check_crosses(absl::string_view where, const FeatureConfig& feature,
                           const std::vector<std::string>& sparse) {
  for (int i = 0; i < feature.transform_size(); ++i) {
    if (!feature.transform(i).has_cross()) continue;
    const std::string& other = feature.transform(i).cross().feature();
    if (std::find(sparse.begin(), sparse.end(), other) != sparse.end()) continue;
    return wrong(entry(absl::StrCat(where, ".transform"), i),
                 absl::StrCat("cross: no sparse feature \"", other, "\" before this one",
                              did_you_mean(other, sparse)));
  }
  return absl::OkStatus();
}

}  // namespace millrace
