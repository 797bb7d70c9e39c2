#include "io/transform/create_transform.h"

#include "base/status_macros.h"
#include "io/transform/id_transforms.h"
#include "io/transform/missing_values.h"
#include "io/transform/number_transforms.h"
#include "io/transform/transform_registry.h"
#include "io/transform/vocabulary_transform.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<Transform>> create_transform(const TransformConfig& config,
                                                            size_t crosses_before) {
  switch (config.kind_case()) {
    case TransformConfig::kHash: return make_hash_transform(config.hash());
    case TransformConfig::kModulo: return make_modulo_transform(config.modulo());
    case TransformConfig::kBucketize: return make_bucketize_transform(config.bucketize());
    case TransformConfig::kLog1P: return make_log1p_transform();
    case TransformConfig::kClip: return make_clip_transform(config.clip());
    case TransformConfig::kThreshold: return make_threshold_transform(config.threshold());
    case TransformConfig::kMultiHash: return make_multi_hash_transform(config.multi_hash());
    case TransformConfig::kCross: return make_cross_transform(config.cross(), crosses_before);
    case TransformConfig::kTruncate: return make_truncate_transform(config.truncate());
    case TransformConfig::kUnique: return make_unique_transform();
    case TransformConfig::kVocabulary: return make_vocabulary_transform(config.vocabulary());
    case TransformConfig::kCast: return make_cast_transform();
    case TransformConfig::kStandardize: return make_standardize_transform(config.standardize());
    case TransformConfig::kIsMissing: return make_is_missing_transform();
    case TransformConfig::kCustom: return transform_registry().create(config.custom());
    case TransformConfig::kMissingValues:
      return absl::InvalidArgumentError("missing_values must be the first transform");
    case TransformConfig::KIND_NOT_SET: break;
  }
  return absl::InvalidArgumentError("a transform has no kind");
}

absl::StatusOr<std::vector<std::string>> files_of_transform(const TransformConfig& config) {
  if (!config.has_vocabulary() && !config.has_custom()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::unique_ptr<Transform> transform, create_transform(config, 0));
  return transform->files();
}

}  // namespace millrace
