#include "io/feature_schema.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/feature_schema_check.h"

namespace millrace {

absl::StatusOr<FeatureSchema> FeatureSchema::create(const TrainConfig& config,
                                                    std::vector<std::string> kept_columns) {
  RETURN_IF_ERROR(check_feature_schema("train", config));
  FeatureSchema schema;
  schema.kept_columns_ = std::move(kept_columns);
  for (const FeatureConfig& feature : config.feature()) {
    schema.features_.push_back(feature);
    switch (feature.kind()) {
      case FeatureConfig::SPARSE:
        schema.sparse_.push_back(
            {.name = feature.name(),
             .table = feature.table().empty() ? feature.name() : feature.table(),
             .pooling = feature.pooling(),
             .max_ids = feature.max_ids()});
        break;
      case FeatureConfig::DENSE: schema.dense_.push_back(feature.name()); break;
      case FeatureConfig::LABEL: schema.labels_.push_back(feature.name()); break;
      case FeatureConfig::WEIGHT:
      case FeatureConfig::EXAMPLE_ID:
      case FeatureConfig::GROUP_ID: break;
    }
  }
  return schema;
}

absl::StatusOr<int64_t> FeatureSchema::sparse_index(absl::string_view name) const {
  std::vector<std::string> names;
  for (const SparseFeature& feature : sparse_) {
    if (feature.name == name) return static_cast<int64_t>(names.size());
    names.push_back(feature.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no sparse feature \"", name, "\"", did_you_mean(name, names)));
}

}  // namespace millrace
