#include "io/transform/transform_registry.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "io/transform/id_transforms.h"
#include "io/transform/missing_values.h"
#include "io/transform/number_transforms.h"
#include "io/transform/vocabulary_transform.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_hash(absl::string_view where, const TransformConfig& config) {
  const HashTransform& hash = config.hash();
  if (hash.function() != HashTransform::FARM_HASH || hash.seed() == 0) return absl::OkStatus();
  return wrong(where, "FARM_HASH takes no seed");
}

absl::Status check_bucketize(absl::string_view where, const TransformConfig& config) {
  const BucketizeTransform& bucketize = config.bucketize();
  if (bucketize.boundary_size() == 0) return wrong(where, "boundary is missing");
  for (int i = 0; i < bucketize.boundary_size(); ++i) {
    if (std::isnan(bucketize.boundary(i))) {
      return wrong(where, absl::StrCat("boundary[", i, "] is not a number"));
    }
    if (i == 0 || bucketize.boundary(i - 1) < bucketize.boundary(i)) continue;
    return wrong(where, absl::StrCat("boundary[", i, "] is ", bucketize.boundary(i), " after ",
                                     bucketize.boundary(i - 1), "; must increase strictly"));
  }
  return absl::OkStatus();
}

absl::Status check_clip(absl::string_view where, const TransformConfig& config) {
  const ClipTransform& clip = config.clip();
  if (clip.min() <= clip.max()) return absl::OkStatus();
  return wrong(where, absl::StrCat("min ", clip.min(), " is above max ", clip.max()));
}

absl::Status check_threshold(absl::string_view where, const TransformConfig& config) {
  const ThresholdTransform& threshold = config.threshold();
  if (!threshold.has_at_least()) return wrong(where, "at_least is missing");
  if (std::isnan(threshold.at_least())) return wrong(where, "at_least is not a number");
  return absl::OkStatus();
}

absl::Status check_multi_hash(absl::string_view where, const TransformConfig& config) {
  if (config.multi_hash().function() != HashTransform::FARM_HASH) return absl::OkStatus();
  return wrong(where, "FARM_HASH takes no seed");
}

absl::Status check_cross(absl::string_view where, const TransformConfig& config) {
  return config.cross().feature().empty() ? wrong(where, "feature is missing") : absl::OkStatus();
}

absl::Status check_vocabulary(absl::string_view where, const TransformConfig& config) {
  return config.vocabulary().path().empty() ? wrong(where, "path is missing") : absl::OkStatus();
}

absl::Status check_standardize(absl::string_view where, const TransformConfig& config) {
  const StandardizeTransform& standardize = config.standardize();
  if (!standardize.has_mean()) return wrong(where, "mean is missing");
  if (!standardize.has_standard_deviation()) return wrong(where, "standard_deviation is missing");
  return absl::OkStatus();
}

absl::Status check_missing_values(absl::string_view where, const TransformConfig& config) {
  const MissingValuesTransform& missing = config.missing_values();
  if (missing.number_size() == 0 && missing.text_size() == 0 && !missing.nan()) {
    return wrong(where, "says not which values are missing; give number, text or nan: true");
  }
  for (int i = 0; i < missing.number_size(); ++i) {
    if (!std::isnan(missing.number(i))) continue;
    return wrong(where, absl::StrCat("number[", i, "] is not a number; write nan: true"));
  }
  for (int i = 0; i < missing.text_size(); ++i) {
    if (!missing.text(i).empty()) continue;
    return wrong(where,
                 absl::StrCat("text[", i, "] is empty; an empty cell is missing without it"));
  }
  return absl::OkStatus();
}

std::vector<TransformRegistry::Kind> transform_kinds() {
  return {
      {TransformConfig::kHash,
       [](const auto& config, size_t) { return make_hash_transform(config.hash()); }, &check_hash},
      {TransformConfig::kModulo,
       [](const auto& config, size_t) { return make_modulo_transform(config.modulo()); }},
      {TransformConfig::kBucketize,
       [](const auto& config, size_t) { return make_bucketize_transform(config.bucketize()); },
       &check_bucketize},
      {TransformConfig::kLog1P, [](const auto&, size_t) { return make_log1p_transform(); }},
      {TransformConfig::kClip,
       [](const auto& config, size_t) { return make_clip_transform(config.clip()); }, &check_clip},
      {TransformConfig::kThreshold,
       [](const auto& config, size_t) { return make_threshold_transform(config.threshold()); },
       &check_threshold},
      {TransformConfig::kMultiHash,
       [](const auto& config, size_t) { return make_multi_hash_transform(config.multi_hash()); },
       &check_multi_hash},
      {TransformConfig::kCross,
       [](const auto& config, size_t crosses) {
         return make_cross_transform(config.cross(), crosses);
       },
       &check_cross},
      {TransformConfig::kTruncate,
       [](const auto& config, size_t) { return make_truncate_transform(config.truncate()); }},
      {TransformConfig::kUnique, [](const auto&, size_t) { return make_unique_transform(); }},
      {TransformConfig::kVocabulary,
       [](const auto& config, size_t) { return make_vocabulary_transform(config.vocabulary()); },
       &check_vocabulary},
      {TransformConfig::kCast, [](const auto&, size_t) { return make_cast_transform(); }},
      {TransformConfig::kStandardize,
       [](const auto& config, size_t) { return make_standardize_transform(config.standardize()); },
       &check_standardize},
      {TransformConfig::kIsMissing,
       [](const auto&, size_t) { return make_is_missing_transform(); }},
      // FeatureTransform applies a first missing_values itself, so this is a later one.
      {TransformConfig::kMissingValues,
       [](const auto&, size_t) {
         return absl::InvalidArgumentError("missing_values must be the first transform");
       },
       &check_missing_values},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(transform, TransformRegistry, "transform",
                     "transform { custom { name: \"NAME\" } }", "kind", transform_kinds());

absl::Status check_transform(absl::string_view where, const TransformConfig& config) {
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.kind_case() == TransformConfig::KIND_NOT_SET) {
    return wrong(where,
                 absl::StrCat("says not which transform; known: ",
                              absl::StrJoin(transform_registry().kinds(), ", "), ", custom"));
  }
  return transform_registry().check(where, config);
}

absl::StatusOr<std::unique_ptr<Transform>> create_transform(const TransformConfig& config,
                                                            size_t crosses_before) {
  return transform_registry().create(config, crosses_before);
}

absl::StatusOr<std::vector<std::string>> files_of_transform(const TransformConfig& config) {
  if (!config.has_vocabulary() && !config.has_custom()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> transform, create_transform(config, 0));
  return transform->files();
}

}  // namespace millrace
