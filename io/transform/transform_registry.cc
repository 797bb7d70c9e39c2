#include "io/transform/transform_registry.h"

#include "base/status_macros.h"
#include "io/transform/id_transforms.h"
#include "io/transform/missing_values.h"
#include "io/transform/number_transforms.h"
#include "io/transform/vocabulary_transform.h"

namespace millrace {
namespace {

std::vector<TransformRegistry::Kind> transform_kinds() {
  return {
      {TransformConfig::kHash,
       [](const auto& config, size_t) { return make_hash_transform(config.hash()); }},
      {TransformConfig::kModulo,
       [](const auto& config, size_t) { return make_modulo_transform(config.modulo()); }},
      {TransformConfig::kBucketize,
       [](const auto& config, size_t) { return make_bucketize_transform(config.bucketize()); }},
      {TransformConfig::kLog1P, [](const auto&, size_t) { return make_log1p_transform(); }},
      {TransformConfig::kClip,
       [](const auto& config, size_t) { return make_clip_transform(config.clip()); }},
      {TransformConfig::kThreshold,
       [](const auto& config, size_t) { return make_threshold_transform(config.threshold()); }},
      {TransformConfig::kMultiHash,
       [](const auto& config, size_t) { return make_multi_hash_transform(config.multi_hash()); }},
      {TransformConfig::kCross,
       [](const auto& config, size_t crosses) {
         return make_cross_transform(config.cross(), crosses);
       }},
      {TransformConfig::kTruncate,
       [](const auto& config, size_t) { return make_truncate_transform(config.truncate()); }},
      {TransformConfig::kUnique, [](const auto&, size_t) { return make_unique_transform(); }},
      {TransformConfig::kVocabulary,
       [](const auto& config, size_t) { return make_vocabulary_transform(config.vocabulary()); }},
      {TransformConfig::kCast, [](const auto&, size_t) { return make_cast_transform(); }},
      {TransformConfig::kStandardize,
       [](const auto& config, size_t) { return make_standardize_transform(config.standardize()); }},
      {TransformConfig::kIsMissing,
       [](const auto&, size_t) { return make_is_missing_transform(); }},
      // FeatureTransform applies a first missing_values itself, so this is a later one.
      {TransformConfig::kMissingValues,
       [](const auto&, size_t) {
         return absl::InvalidArgumentError("missing_values must be the first transform");
       }},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(transform, TransformRegistry, "transform",
                     "transform { custom { name: \"NAME\" } }", "kind", transform_kinds());

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
